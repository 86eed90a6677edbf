import { ApiError } from '@shoal/contract'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageErrors, accessibilityFlaws, newUser, openBrowser, seriousFlaws } from '../../support/browser.ts'
import { consoleShoal } from '../../support/console-shoal.ts'
import { pressExactly as press, waitForExactText } from '../../support/page.ts'
import { newestLink, password, signInAs, signUpInBrowser, signInInBrowser } from '../../support/people.ts'

const shoal = consoleShoal()
let browser: Browser

beforeAll(async () => {
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
/** Matches the start of the text, because the text of a disabled item also contains the reason. */
const menuItem = (page: Page, name: string) => page.getByRole('menuitem', { name: new RegExp(`^${name}`) })
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

async function openRowMenu(page: Page, text: string) {
  await rowOf(page, text)
    .getByRole('button', { name: `Actions for ${text}` })
    .click()
  await page.getByRole('menu').waitFor()
}

/** Tests the interactive bot check: with `turnstileInteractive` it waits for a click before it requests a challenge (spec 2.1). */
async function testInteractiveBotCheck(page: Page) {
  let challenges = 0
  await page.route('**/api/v1/auth/challenge', (route) => {
    challenges++
    return route.continue()
  })
  await page.goto('/signup?turnstileInteractive=true&email=new%40acme.dev')
  await expect.poll(() => page.getByLabel('Work email').inputValue()).toBe('new@acme.dev')
  const terms = page.getByRole('link', { name: 'terms of service' })
  await expect.poll(() => terms.getAttribute('href')).toBe('https://example.com/terms')
  const submit = page.getByRole('button', { name: 'Create account' })
  const checkbox = page.getByRole('checkbox', { name: /robot/i })
  await checkbox.waitFor()
  await expect.poll(() => submit.getAttribute('aria-disabled')).toBe('true')
  expect(challenges).toBe(0)
  // Not a click, because the check mark covers the checkbox.
  await checkbox.press('Space')
  await expect.poll(() => submit.getAttribute('aria-disabled')).toBeNull()
  expect(challenges).toBe(1)
  await page.unroute('**/api/v1/auth/challenge')
}

const admin = { email: 'ada@acme.dev', fullName: 'Ada Acme', password: 'correct horse battery' }

test('a user signs up, creates an organization and invites a member, who creates an API token', async () => {
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  await testInteractiveBotCheck(page)
  await signUpInBrowser(page, admin)
  await waitForExactText(page, 'Please, confirm your email.')
  for (const name of ['Squids', 'Monitoring', 'Secrets', 'Playground settings'])
    await expect.poll(() => page.getByRole('link', { name }).first().getAttribute('aria-disabled')).toBe('true')
  await page.goto('/monitoring')
  await waitForExactText(page, 'Please, confirm your email.')
  const resendUrl = '**/api/v1/user/email/confirm/resend'
  await page.route(resendUrl, (route) => route.abort())
  await press(page, 'Resend verification')
  await waitForExactText(page, 'Unknown error, please, try once again.')
  await page.unroute(resendUrl)
  await press(page, 'Resend verification')
  await waitForExactText(page, 'The email has been sent.')

  await page.goto(await newestLink(shoal, admin.email))
  await waitForExactText(page, 'Your email is confirmed.')
  await expect.poll(() => new URL(page.url()).search).toBe('')
  await heading(page, 'Welcome')
  const next = page.getByRole('button', { name: 'Next' })
  await expect.poll(() => next.getAttribute('aria-disabled')).toBe('true')
  await page.getByLabel('Blockchain dev').check()
  await page.getByLabel('Event').check()
  await page.getByRole('group', { name: 'What will you use it for?' }).getByLabel('Other').check()
  await expect.poll(() => next.getAttribute('aria-disabled')).toBe('true')
  await page.getByLabel('In your own words').fill('bridges')
  await next.click()
  await heading(page, 'Squids')

  await page.getByRole('link', { name: 'Create new organization' }).click()
  await heading(page, 'Set up your organization')
  await page.getByLabel('Name', { exact: true }).fill('Acme Labs')
  await expect.poll(() => page.getByLabel('Code').inputValue()).toBe('acme-labs')
  await press(page, 'Create organization')
  await heading(page, 'Invite users')
  expect(new URL(page.url()).pathname).toBe('/organizations/create/acme-labs')
  await page.getByRole('textbox', { name: 'Email' }).fill('ben@acme.dev')
  await press(page, 'Invite')
  await page.getByRole('listitem').filter({ hasText: 'ben@acme.dev' }).waitFor()
  await page.getByRole('link', { name: 'Done' }).click()
  await heading(page, 'Squids')

  await shoal.cli('user', 'add', '--email', 'ben@acme.dev', '--name', 'Ben Builder', '--password', 'ben has a password')
  const second = await newUser(browser, shoal)
  const benPage = await second.newPage()
  await signInInBrowser(benPage, { email: 'ben@acme.dev', password: 'ben has a password' })
  const accept = benPage.getByRole('button', { name: 'Accept' })
  await accept.waitFor()
  await expect.poll(() => accept.getAttribute('aria-disabled')).toBe('true')
  await benPage.getByLabel('I accept the terms of service').check()
  await accept.click()
  await heading(benPage, 'Welcome')
  await benPage.getByLabel('Analyst').check()
  await benPage.getByLabel('Google').check()
  await benPage.getByLabel('DeFi').check()
  await press(benPage, 'Next')
  await heading(benPage, 'Your invitations')
  await waitForExactText(benPage, 'Invited by Ada Acme (ada@acme.dev)')
  await press(benPage, 'Continue')
  await waitForExactText(benPage, 'Invitation accepted!')
  await waitForExactText(benPage, "You're now a part of the organization.")
  await benPage.getByRole('button', { name: /Acme Labs/ }).waitFor()

  await page.goto('/settings')
  await rowOf(page, 'ben@acme.dev').getByText('Viewer').waitFor()
  await openRowMenu(page, 'ben@acme.dev')
  await menuItem(page, 'Developer').click()
  await rowOf(page, 'ben@acme.dev').getByText('Developer').waitFor()

  await benPage.goto('/profile/api-tokens')
  await benPage.getByRole('link', { name: 'Create API token' }).click()
  await benPage.getByLabel('Token name').fill('laptop')
  await press(benPage, 'Create')
  const key = await benPage
    .getByRole('dialog', { name: 'Store key' })
    .getByLabel('API token', { exact: true })
    .inputValue()
  await press(benPage, 'I have stored the key')
  await rowOf(benPage, 'laptop').getByText('never').first().waitFor()
  const orgs = await shoal.as(key).orgs.list({})
  expect(orgs.map(({ code, roleType }) => [code, roleType])).toContainEqual(['acme-labs', 'developer'])

  await openRowMenu(benPage, 'laptop')
  await menuItem(benPage, 'Delete').click()
  await press(benPage, 'Delete')
  await heading(benPage, 'No API tokens yet')
  await benPage.getByText('npm install --global @subsquid/cli@3.2.3 joi@17.13.3').waitFor()
  await expect(shoal.as(key).orgs.list({})).rejects.toBeInstanceOf(ApiError)
  await Promise.all([context.close(), second.close()])
})

test('the terms dialog blocks the app; closing it logs out', async () => {
  const { context, page } = await signInAs(browser, shoal, 'tess@acme.dev', { isNew: true })
  await page.goto('/squids')
  await page.getByRole('dialog', { name: 'Terms of service' }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog', { name: 'Terms of service' }).count()).toBe(1)
  await expect.poll(() => page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
  expect(await seriousFlaws(page)).toEqual([])
  await press(page, 'Close')
  await heading(page, 'Sign in')
  expect(await page.evaluate(() => localStorage.getItem('user_token'))).toBeNull()
  await context.close()
})

test('password recovery, invalid links, network errors and a sign-in provider work as specified', async () => {
  const { context, page, token } = await signInAs(browser, shoal, 'forgetful@acme.dev')
  await page.goto('/squids')
  const { documentation, support } = {
    documentation: page.getByRole('link', { name: 'Documentation' }),
    support: page.getByRole('link', { name: 'Contact support' }),
  }
  await expect.poll(() => documentation.getAttribute('href')).toBe('https://example.com/docs')
  await expect.poll(() => support.getAttribute('href')).toBe('mailto:help@example.com')
  await page.goto('/api/v1/auth/email/confirm?code=none')
  await waitForExactText(page, 'This confirmation link is no longer valid')
  await page.goto('/confirm-email?code=none&email=another@acme.dev')
  await waitForExactText(page, 'This link belongs to another account')
  await press(page, 'Sign out and continue')
  await waitForExactText(page, /Sign in as another@acme.dev to confirm it/)
  await expect.poll(() => page.getByLabel('Work email').inputValue()).toBe('another@acme.dev')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  await page.getByLabel('Work email').fill('forgetful@acme.dev')
  await press(page, 'Send recovery email')
  await waitForExactText(page, 'A recovery email has been sent. Check your inbox.')
  await page.goto(await newestLink(shoal, 'forgetful@acme.dev'))
  // A token that an attacker could have made.
  await shoal.cli('token', 'add', '--email', 'forgetful@acme.dev', '--name', 'backdoor')
  await page.getByLabel('Create new password').fill('another password')
  await page.getByLabel('Confirm password').fill('another password')
  await press(page, 'Change password')
  await waitForExactText(page, 'Password has been changed')
  await page.getByRole('listitem').filter({ hasText: 'backdoor' }).waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Login' }).click()
  await heading(page, 'Sign in')

  const signIn = '**/api/v1/auth/signin'
  const trySigningIn = () => signInInBrowser(page, { email: 'forgetful@acme.dev', password: 'another password' })
  await page.route(signIn, (route) => route.abort())
  await trySigningIn()
  await waitForExactText(page, 'Unknown error, please, try once again or choose another method.')
  await page.unroute(signIn)
  await page.route(signIn, (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad</h1>' }))
  await trySigningIn()
  await waitForExactText(page, 'Unknown API error. Please try alter')
  await page.unroute(signIn)

  // A simulated GitHub that redirects back immediately; oauth.test.ts tests how the server uses the code.
  await page.goto('/?organization=kept')
  await expect.poll(() => page.getByRole('button', { name: 'Sign in with Google' }).count()).toBe(0)
  await page.route('https://github.com/**', (route) => {
    const { searchParams } = new URL(route.request().url())
    const back = `${shoal.url}/oauth/github?code=a-code&state=${searchParams.get('state') ?? ''}`
    return route.fulfill({ status: 302, headers: { location: back } })
  })
  const newSession = await shoal
    .as('')
    .auth.signIn({ body: { email: 'forgetful@acme.dev', password: 'another password' } })
  expect(newSession.token).not.toBe(token)
  let exchangedMs = Infinity
  await page.route('**/api/v1/oauth/github/auth', (route) => {
    const body = route.request().postDataJSON() as { code: string; state: string }
    expect(body).toEqual({ code: 'a-code', state: expect.stringMatching(/./) as string })
    exchangedMs = performance.now()
    return route.fulfill({ json: { payload: newSession } })
  })
  await press(page, 'Sign in with GitHub')
  await page.waitForURL(/\/squids\?organization=kept$/)
  // Spec 9: the console redirects half a second after the response.
  expect(performance.now() - exchangedMs).toBeGreaterThanOrEqual(500)
  await expect.poll(() => page.evaluate(() => localStorage.getItem('user_token'))).toBe(newSession.token)
  await page.goto('/oauth/github')
  await heading(page, 'Squids')
  await context.close()
})

test('a user can log out before answering invitations; unselected ones are rejected after a confirmation', async () => {
  const boss = await signInAs(browser, shoal, 'boss@multi.dev')
  for (const code of ['multi-one', 'multi-two', 'multi-three']) {
    await boss.api.orgs.create({ body: { code, name: code, email: 'boss@multi.dev' } })
    await boss.api.orgs.inviteMember({ params: { code }, body: { email: 'guest@multi.dev', roleType: 'viewer' } })
  }
  const guest = await signInAs(browser, shoal, 'guest@multi.dev', { areInvitesChecked: false })
  const { page } = guest
  await page.goto('/squids')
  await heading(page, 'Your invitations')
  await expect.poll(() => page.getByRole('button', { name: 'Logout' }).count()).toBe(1)
  await page.getByRole('checkbox', { name: 'multi-two' }).uncheck()
  await press(page, 'Continue')
  const confirmation = page.getByRole('alertdialog', { name: 'Confirm your invitation choices' })
  await confirmation.getByRole('listitem').filter({ hasText: 'multi-two' }).waitFor()
  await expect.poll(() => confirmation.getByRole('listitem').count()).toBe(1)
  expect(await seriousFlaws(page)).toEqual([])
  await press(page, 'Confirm')
  await heading(page, 'Squids')
  const codes = (await guest.api.orgs.list({})).map(({ code }) => code)
  expect(codes).toEqual(expect.arrayContaining(['multi-one', 'multi-three']))
  expect(codes).not.toContain('multi-two')
  expect(await guest.api.user.listInvites({})).toEqual([])
  await expect.poll(() => page.evaluate(() => localStorage.getItem('tmp_invites_checked'))).toBe('true')

  // The last case of spec 8: a link to an invitation that no longer exists.
  await page.goto('/squids?organization=multi-two&acceptInviteId=999999')
  await page.getByText('Invitation not found').first().waitFor()
  await page.waitForURL(/\/squids\?organization=multi-two$/)
  await Promise.all([boss.context.close(), guest.context.close()])
})

test('an invitation link accepts the invitation', async () => {
  const boss = await signInAs(browser, shoal, 'boss@link.dev')
  await boss.api.orgs.create({ body: { code: 'link-org', name: 'Link org', email: 'boss@link.dev' } })
  await boss.api.orgs.inviteMember({
    params: { code: 'link-org' },
    body: { email: 'linked@link.dev', roleType: 'admin' },
  })
  const { context, page, api } = await signInAs(browser, shoal, 'linked@link.dev', { areInvitesChecked: false })
  await page.goto(await newestLink(shoal, 'linked@link.dev'))
  await waitForExactText(page, 'Invitation accepted!')
  await page.waitForURL(/\/squids\?organization=link-org$/)
  await page.getByRole('button', { name: /Link org/ }).waitFor()
  expect((await api.orgs.get({ params: { code: 'link-org' } })).roleType).toBe('admin')
  await Promise.all([boss.context.close(), context.close()])
})

/** Creates an organization with one member of each role. */
async function orgOfThree(code: string) {
  const [boss, dev, guest] = [`admin@${code}.dev`, `developer@${code}.dev`, `viewer@${code}.dev`]
  const admins = await signInAs(browser, shoal, boss)
  const org = await admins.api.orgs.create({ body: { code, name: `Org ${code}`, email: boss } })
  const join = async (email: string, roleType: 'developer' | 'viewer') => {
    const { id } = await admins.api.orgs.inviteMember({ params: { code }, body: { email, roleType } })
    const person = await signInAs(browser, shoal, email)
    await person.api.orgs.acceptInvite({ params: { code, id: String(id) } })
    return person
  }
  const people = { admin: admins, developer: await join(dev, 'developer'), viewer: await join(guest, 'viewer') }
  const end = () => Promise.all(Object.values(people).map(({ context }) => context.close()))
  return { org, ...people, end }
}

test('the settings page enables the actions of each role', async () => {
  const { org, admin: boss, developer, viewer, end } = await orgOfThree('roles')
  const settings = `/settings?organization=${org.code}`
  for (const { page } of [developer, viewer]) {
    await page.goto(settings)
    await heading(page, 'Organization settings')
    await waitForExactText(page, 'Only administrators may change the organization.')
    await rowOf(page, 'admin@roles.dev').waitFor()
    await expect.poll(() => page.getByLabel('Organization name').count()).toBe(0)
    for (const name of ['Invite user', 'Delete organization']) {
      const button = page.getByRole('button', { name })
      await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
    }
    await openRowMenu(page, 'admin@roles.dev')
    for (const name of ['Developer', 'Remove user'])
      await expect.poll(() => menuItem(page, name).getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
  }

  const { page } = boss
  await page.goto(settings)
  // The plan label and the sizes of spec 2.3.
  await page.getByRole('button', { name: /Org roles.*Billing not set/ }).waitFor()
  const sizes = async (width: number) => {
    await page.setViewportSize({ width, height: 900 })
    const [top, side] = await Promise.all(['header', 'aside'].map((tag) => page.locator(tag).first().boundingBox()))
    return [top?.height, side?.width ?? 0]
  }
  await expect.poll(() => sizes(1536)).toEqual([52, 320])
  await expect.poll(() => sizes(1535)).toEqual([52, 248])
  await expect.poll(() => sizes(999)).toEqual([52, 0])
  await page.setViewportSize({ width: 1440, height: 900 })
  await rowOf(page, 'admin@roles.dev').getByText('You', { exact: true }).waitFor()
  await openRowMenu(page, 'admin@roles.dev')
  await expect.poll(() => menuItem(page, 'Viewer').getAttribute('aria-disabled')).toBe('true')
  await menuItem(page, 'Leave organization').click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Leave organization' }).click()
  await waitForExactText(page, 'Assign another user as admin')

  await openRowMenu(page, 'viewer@roles.dev')
  await menuItem(page, 'Remove user').click()
  await press(page, 'Remove user')
  await expect.poll(() => rowOf(page, 'viewer@roles.dev').count()).toBe(0)

  await developer.page.getByRole('button', { name: 'Leave organization' }).click()
  await developer.page.getByRole('alertdialog').getByRole('button', { name: 'Leave organization' }).click()
  await developer.page.waitForURL(/\/squids/)
  expect((await developer.api.orgs.list({})).map(({ code }) => code)).not.toContain(org.code)

  await page.getByRole('button', { name: 'Delete organization' }).click()
  const dialog = page.getByRole('alertdialog')
  const confirm = dialog.getByRole('button', { name: 'Delete organization' })
  await expect.poll(() => confirm.getAttribute('aria-disabled')).toBe('true')
  await dialog.getByLabel(`Type ${org.code} to confirm`).fill(org.code)
  await confirm.click()
  await page.waitForURL(/\/squids/)
  expect((await boss.api.orgs.list({})).map(({ code }) => code)).not.toContain(org.code)
  await end()
})

test('a notification email has to be confirmed', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'owner@mail.dev')
  await api.orgs.create({ body: { code: 'mail-org', name: 'Mail org', email: 'owner@mail.dev' } })
  await page.goto('/settings?organization=mail-org')
  await page.getByLabel('Email', { exact: true }).fill('alerts@mail.dev')
  await page.locator('section').filter({ hasText: 'Notification email' }).getByRole('button', { name: 'Save' }).click()
  await waitForExactText(page, 'alerts@mail.dev is not confirmed yet')
  await press(page, 'Resend verification')
  await waitForExactText(page, 'The email has been sent')
  await page.goto(await newestLink(shoal, 'alerts@mail.dev'))
  await press(page, 'Confirm email')
  await waitForExactText(page, 'Email of organization is now verified. It will be used to receive notifications.')
  await expect.poll(() => new URL(page.url()).searchParams.has('emailVerified')).toBe(false)
  await expect.poll(() => page.getByText('is not confirmed yet').count()).toBe(0)
  expect((await api.orgs.get({ params: { code: 'mail-org' } })).email.email).toBe('alerts@mail.dev')
  await page.goto('/settings?emailVerified=false')
  await waitForExactText(page, 'This link is no longer valid')
  await context.close()
})

test('forms show the validation messages of the specification', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'forms@acme.dev')
  await api.orgs.create({ body: { code: 'taken-code', name: 'Taken', email: 'forms@acme.dev' } })

  await page.goto('/organizations/create')
  await page.getByLabel('Notification email').fill('')
  await press(page, 'Create organization')
  for (const text of ['Name is required', 'Email is required', 'Code is required']) await waitForExactText(page, text)
  await page.getByLabel('Notification email').fill('no-email')
  await page.getByLabel('Code').fill('No Code')
  for (const text of ['Email must be valid', 'Only lowercase alphanumeric symbols and hyphens are allowed'])
    await waitForExactText(page, text)
  await page.getByLabel('Name', { exact: true }).fill('ab')
  await waitForExactText(page, 'Min 3, max 100 symbols.')
  expect(await seriousFlaws(page)).toEqual([])
  await page.getByLabel('Name', { exact: true }).fill('Taken')
  await page.getByLabel('Notification email').fill('forms@acme.dev')
  await page.getByLabel('Code').fill('taken-code')
  await press(page, 'Create organization')
  await waitForExactText(page, 'This code is already taken. Please choose another one.')
  await expect.poll(() => page.getByLabel('Code').getAttribute('aria-invalid')).toBe('true')

  await page.goto('/organizations/create/taken-code')
  await press(page, 'Invite')
  await waitForExactText(page, 'Email is required')
  await page.getByLabel('Email').fill('no-email')
  await waitForExactText(page, 'Must be valid email')

  await page.goto('/profile/api-tokens/create')
  await press(page, 'Create')
  await waitForExactText(page, 'Token name is required and must be unique')
  const tokens = page.getByLabel('Token name')
  await tokens.fill('twice')
  await press(page, 'Create')
  await press(page, 'I have stored the key')
  await page.getByRole('link', { name: 'Create API token' }).click()
  await tokens.fill('twice')
  await press(page, 'Create')
  await waitForExactText(page, 'Token name is required and must be unique')

  await page.goto('/profile/settings')
  await page.getByLabel('Full name').fill('<script>')
  await press(page, 'Save')
  await waitForExactText(page, 'Special symbols are not allowed')
  await page.getByLabel('Full name').fill('')
  await waitForExactText(page, 'Name is required')
  await page.getByLabel('Full name').fill('Fay Forms')
  await press(page, 'Save')
  await waitForExactText(page, 'Your name has been changed')
  await press(page, 'Change password')
  for (const text of ['Password is required', 'Password confirm is required']) await waitForExactText(page, text)
  await page.getByLabel('Current password').fill('not this one')
  await page.getByLabel('New password').fill('short')
  await waitForExactText(page, 'Must be at least 8 characters')
  await page.getByLabel('New password').fill('a longer password')
  await page.getByLabel('Confirm password').fill('another password')
  await waitForExactText(page, 'Passwords must match')
  await page.getByLabel('Confirm password').fill('a longer password')
  await press(page, 'Change password')
  await waitForExactText(page, 'The current password is wrong')
  await page.getByLabel('Current password').fill(password)
  await press(page, 'Change password')
  await waitForExactText(page, 'Password has been changed')

  await page.getByRole('row').filter({ hasText: 'This session' }).waitFor()
  await press(page, 'Sign out everywhere')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
  await heading(page, 'Sign in')
  await signInInBrowser(page, { email: 'forms@acme.dev', password: 'a longer password' })
  await heading(page, 'Squids')
  await context.close()
})

test('a bot check by Turnstile whose script failed can be tried again', async () => {
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  await page.route('**/api/v1/auth/options', async (route) => {
    const response = await route.fetch()
    const { payload } = (await response.json()) as { payload: object }
    const botCheck = { kind: 'turnstile', siteKey: 'site' }
    await route.fulfill({ response, json: { payload: { ...payload, botCheck } } })
  })
  const api = `window.turnstile = {
    render: (_, options) => { options.callback('solved'); return 'widget' },
    remove: () => {},
  }`
  // Blocked, then replaced by an empty script, as by content blockers.
  const responses: ((route: Route) => Promise<void>)[] = [
    (route) => route.abort(),
    (route) => route.fulfill({ contentType: 'text/javascript', body: '' }),
    (route) => route.fulfill({ contentType: 'text/javascript', body: api }),
  ]
  await page.route('https://challenges.cloudflare.com/**', (route) => responses.shift()?.(route))
  await page.goto('/signup')
  const submit = page.getByRole('button', { name: 'Create account' })
  for (const left of [2, 1]) {
    await page.getByText('The bot check could not be loaded.').waitFor()
    expect(responses).toHaveLength(left)
    await expect.poll(() => submit.getAttribute('aria-disabled')).toBe('true')
    await press(page, 'Try again')
  }
  await expect.poll(() => submit.getAttribute('aria-disabled')).toBeNull()
  expect(responses).toEqual([])
  await context.close()
})

test('preview mode sets a long-lived cookie and shows the Portal', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'pia@acme.dev')
  await api.orgs.create({ body: { code: 'preview-org', name: 'Preview org', email: 'pia@acme.dev' } })
  await page.goto('/preview?organization=preview-org')
  await page.getByRole('switch', { name: 'Preview mode' }).click()
  await waitForExactText(page, 'PREVIEW')
  await page.getByRole('link', { name: /Portal/ }).waitFor()
  const beta = (await context.cookies()).find(({ name }) => name === 'beta')
  // It is set for ten years, but Chromium caps cookies at 400 days.
  expect(beta?.expires).toBeGreaterThan(Date.now() / 1000 + 399 * 86_400)
  await page.getByRole('switch', { name: 'Preview mode' }).click()
  await expect.poll(async () => (await context.cookies()).some(({ name }) => name === 'beta')).toBe(false)
  await context.close()
})

test('every screen is accessible in both themes and at every width', async () => {
  const { org, admin: boss, viewer, end } = await orgOfThree('screens')
  await boss.api.orgs.inviteMember({
    params: { code: org.code },
    body: { email: 'invited@screens.dev', roleType: 'admin' },
  })
  await boss.api.user.createApiToken({ body: { name: 'laptop', expiresAt: null } })
  const newcomer = await signInAs(browser, shoal, 'fresh@screens.dev', { areInvitesChecked: false, isNew: true })
  await newcomer.api.user.completeOnboarding({ body: { policyAccepted: true } })
  const guest = await signInAs(browser, shoal, 'guest@screens.dev', { areInvitesChecked: false })
  for (const [code, name] of [
    ['screens', ''],
    ['screens-2', 'Harbour Analytics'],
  ] as const) {
    if (name) await boss.api.orgs.create({ body: { code, name, email: 'admin@screens.dev' } })
    await boss.api.orgs.inviteMember({ params: { code }, body: { email: 'guest@screens.dev', roleType: 'viewer' } })
  }
  const screens: [shot: string, page: Page, address: string, title: string][] = [
    ['welcome', newcomer.page, '/squids', 'Welcome'],
    ['invitations', guest.page, '/squids', 'Your invitations'],
    ['org-create', boss.page, '/organizations/create', 'Set up your organization'],
    ['org-invite', boss.page, '/organizations/create/screens', 'Invite users'],
    ['org-settings', boss.page, '/settings', 'Organization settings'],
    ['org-settings-viewer', viewer.page, '/settings?organization=screens', 'Organization settings'],
    ['playground-settings', newcomer.page, '/settings', 'Playground settings'],
    ['account', boss.page, '/profile/settings', 'Account settings'],
    ['tokens', boss.page, '/profile/api-tokens', 'API tokens'],
    ['tokens-empty', viewer.page, '/profile/api-tokens', 'API tokens'],
    ['token-create', boss.page, '/profile/api-tokens/create', 'Create API token'],
    ['preview', boss.page, '/preview', 'Preview'],
  ]
  const flaws: string[] = []
  const check = async ([shot, page, address, title]: (typeof screens)[number]) => {
    if (shot === 'playground-settings') await page.evaluate(() => localStorage.setItem('tmp_invites_checked', 'true'))
    await page.goto(address)
    await heading(page, title)
    await expect.poll(() => page.locator('[aria-busy=true], [aria-label=Loading]').count()).toBe(0)
    flaws.push(...(await accessibilityFlaws(page, shot)))
  }
  // Each user has their own page, so the pages are checked in parallel.
  await Promise.all(
    [...Map.groupBy(screens, ([, page]) => page).values()].map(async (screensOfPage) => {
      for (const screen of screensOfPage) await check(screen)
    }),
  )
  expect(flaws).toEqual([])
  await Promise.all([end(), newcomer.context.close(), guest.context.close()])
})

test('no browser reported an error or a violation of the content security policy', () => {
  expect(pageErrors).toEqual([])
})
