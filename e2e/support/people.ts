import type { Client, Contract } from '@shoal/contract'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { newPerson } from './browser.ts'
import type { Shoal } from './shoal.ts'
import { until } from './until.ts'

type Account = { email: string; password: string; fullName: string }

export const password = 'a password of tests'

/** Signs up through the page, with its bot check. */
export async function signUpInBrowser(page: Page, { email, fullName, password: chosen }: Account): Promise<void> {
  await page.goto('/signup')
  await page.getByLabel('Full name').fill(fullName)
  await page.getByLabel('Work email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(chosen)
  await page.getByLabel('I accept the terms of service').check()
  const submit = page.getByRole('button', { name: 'Create account' })
  // Solved automatically in the background.
  await until(async () => (await submit.getAttribute('aria-disabled')) === null, 'the bot check is solved')
  await submit.click()
}

export async function signInInBrowser(
  page: Page,
  { email, password: known }: Omit<Account, 'fullName'>,
): Promise<void> {
  await page.goto('/')
  await page.getByLabel('Work email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(known)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Returns the link in the newest mail to this address, from the outbox page. */
export function newestLink(shoal: Shoal, email: string): Promise<string> {
  return until(async () => {
    const html = await (await fetch(`${shoal.url}/outbox`)).text()
    const mail = html.split('<article>').find((article) => article.includes(`To ${email},`))
    return /href="([^"]+)"/.exec(mail ?? '')?.[1]?.replaceAll('&#38;', '&')
  }, `a mail to ${email}`)
}

type Person = { context: BrowserContext; page: Page; token: string; api: Client<Contract> }
type How = {
  /** The user has neither accepted the terms nor filled in the questionnaire. */
  isNew?: boolean
  areInvitesChecked?: boolean
  /** The tour has not been shown yet. */
  hasTour?: boolean
  /** Id of the selected organization. */
  userOrg?: number
}

/** Signs in a user with a confirmed account, which is created if it does not exist. */
export async function personAs(browser: Browser, shoal: Shoal, email: string, how: How = {}): Promise<Person> {
  const signIn = () => shoal.as('').auth.signIn({ body: { email, password } })
  const name = email.split(/[@.]/).slice(0, 2).join(' ')
  const { token } = await signIn().catch(async () => {
    await shoal.cli('user', 'add', '--email', email, '--name', name, '--password', password)
    return signIn()
  })
  const api = shoal.as(token)
  if (!how.isNew) {
    const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
    await api.user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
  }
  const context = await newPerson(browser, shoal, {
    user_token: token,
    tmp_invites_checked: String(how.areInvitesChecked ?? true),
    ...(how.hasTour && { onboardingGuide: '0' }),
    ...(how.userOrg !== undefined && { userOrg: String(how.userOrg) }),
  })
  return { context, page: await context.newPage(), token, api }
}
