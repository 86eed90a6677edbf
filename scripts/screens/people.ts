import type { Browser, BrowserContext } from 'playwright-core'
import { newUser } from '../../e2e/support/browser.ts'
import { signInAs, signUpInBrowser } from '../../e2e/support/people.ts'
import type { Shoal } from '../../e2e/support/shoal.ts'
import type { Session } from './data.ts'
import { fullOrg } from './orgs.ts'
import type { Persona } from './screen.ts'

const password = 'a password of screenshots'

/** Opens a browser context for each persona. */
export async function openPersonas(
  browser: Browser,
  shoal: Shoal,
  owner: Session,
): Promise<Record<Persona, BrowserContext>> {
  const params = { code: fullOrg }
  const invite = (email: string) => owner.api.orgs.inviteMember({ params, body: { email, roleType: 'viewer' } })

  const previewer = await newUser(browser, shoal, { user_token: owner.token, tmp_invites_checked: 'true' })
  await previewer.addCookies([{ name: 'beta', value: 'true', url: shoal.url }])

  const unconfirmed = await newUser(browser, shoal)
  const page = await unconfirmed.newPage()
  await signUpInBrowser(page, { email: 'una@harbour.example', fullName: 'Una Confirmed', password })
  await page.getByText('Please, confirm your email.').waitFor()
  await page.close()

  const withoutTerms = await signInAs(browser, shoal, 'tia@harbour.example', { isNew: true })
  const newcomer = await signInAs(browser, shoal, 'nia@harbour.example', { isNew: true })
  await newcomer.api.user.completeOnboarding({ body: { policyAccepted: true } })
  await invite('ivy@harbour.example')
  const invited = await signInAs(browser, shoal, 'ivy@harbour.example', { areInvitesChecked: false })
  await invite('vic@harbour.example')
  const viewer = await signInAs(browser, shoal, 'vic@harbour.example')
  for (const { id } of await viewer.api.user.listInvites({}))
    await viewer.api.orgs.acceptInvite({ params: { ...params, id: String(id) } })
  return {
    owner: owner.context,
    previewer,
    guest: await newUser(browser, shoal),
    unconfirmed,
    withoutTerms: withoutTerms.context,
    newcomer: newcomer.context,
    invited: invited.context,
    viewer: viewer.context,
  }
}
