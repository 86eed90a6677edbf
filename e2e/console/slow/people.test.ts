import { readFileSync } from 'node:fs'
import { ApiError } from '@shoal/contract'
import type { Browser, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageErrors, newUser, openBrowser, axeFlaws } from '../../support/browser.ts'
import { consoleShoal } from '../../support/console-shoal.ts'
import { clickExactButton as clickButton, waitForExactText, waitForText } from '../../support/page.ts'
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

test('with `turnstileInteractive`, the bot check waits for a click before it requests a challenge', async () => {
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
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
  // The test does not click, because the check mark covers the checkbox.
  await checkbox.press('Space')
  await expect.poll(() => submit.getAttribute('aria-disabled')).toBeNull()
  expect(challenges).toBe(1)
  await context.close()
})

/** Signs up a user with the form, in a new browser context, without confirming the email. */
async function signUp(email: string) {
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  await signUpInBrowser(page, { email, fullName: 'Ada Acme', password })
  await waitForExactText(page, 'Please, confirm your email.')
  return { context, page }
}

test('a user with an unconfirmed email can open no page of an organization', async () => {
  const { context, page } = await signUp('unconfirmed@acme.dev')
  for (const name of ['Squids', 'Monitoring', 'Secrets', 'Playground settings'])
    await expect.poll(() => page.getByRole('link', { name }).first().getAttribute('aria-disabled')).toBe('true')
  for (const name of ['Organization', 'Create new organization', 'Squids', 'Documentation']) {
    const disabled = page.locator('aside').locator('a, button, span[aria-disabled]').filter({ hasText: name }).first()
    expect(
      await disabled.evaluate((element) => element.ownerDocument.defaultView?.getComputedStyle(element).opacity),
      name,
    ).toBe('0.5')
  }
  expect(await axeFlaws(page)).toEqual([])
  await page.goto('/monitoring')
  await waitForExactText(page, 'Please, confirm your email.')
  await context.close()
})

test('without the code of the page for an unconfirmed email, the navigation stays, and the page appears when its code loads', async () => {
  const { context, page } = await signUp('without-code@acme.dev')
  const manifestFile = new URL('../../../console/dist/.vite/manifest.json', import.meta.url)
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as Record<string, { file: string }>
  const file = manifest['src/app/layouts/ConfirmEmail.tsx']?.file
  const hasFailed = page.waitForEvent('requestfailed', (request) => request.url().endsWith(`/${file}`))
  await page.route(`**/${file}`, (route) => route.abort())
  await page.goto('/squids')
  await hasFailed
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
  await waitForExactText(page, 'Please, confirm your email.')
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  // The browser reports the missing code.
  expect(pageErrors.splice(0).filter((text) => !text.includes(String(file)))).toEqual([])
  await context.close()
})

test('the page sends the confirmation email again, and says so if it cannot', async () => {
  const { context, page } = await signUp('waiting@acme.dev')
  const resendUrl = '**/api/v1/user/email/confirm/resend'
  await page.route(resendUrl, (route) => route.abort())
  await clickButton(page, 'Resend verification')
  await waitForExactText(page, 'Unknown error, please, try once again.')
  await page.unroute(resendUrl)
  const resent = page.waitForResponse('**/api/v1/user/email/confirm/resend')
  await clickButton(page, 'Resend verification')
  expect((await resent).ok()).toBe(true)
  await waitForExactText(page, 'The email has been sent.')
  await context.close()
})

test('a new user confirms the email with its link', async () => {
  const { context, page } = await signUp('ada@acme.dev')
  await page.goto(await newestLink(shoal, 'ada@acme.dev'))
  await waitForExactText(page, 'Your email is confirmed.')
  await expect.poll(() => new URL(page.url()).search).toBe('')
  await heading(page, 'Welcome')
  await context.close()
})

test('a new user answers all questions before the first page', async () => {
  const { context, page } = await signInAs(browser, shoal, 'curious@acme.dev', {
    isNew: true,
    areInvitesChecked: false,
  })
  await page.goto('/squids')
  await page.getByLabel('I accept the terms of service').check()
  await clickButton(page, 'Accept')
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
  await expect.poll(() => page.locator('#page-announcement').textContent()).toBe('Squids')
  await context.close()
})

test('while the invitations cannot be loaded, onboarding has its heading and an error', async () => {
  const { context, page } = await signInAs(browser, shoal, 'invited@acme.dev', { areInvitesChecked: false })
  await page.route('**/api/v1/user/invites', (route) => route.abort())
  await page.goto('/squids')
  await waitForText(page, 'Your invitations could not be loaded')
  expect(await page.getByRole('heading', { level: 1 }).allInnerTexts()).toEqual(['Your invitations'])
  await context.close()
})

test('a new API token has the rights of its user', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'tokens@acme.dev')
  await api.orgs.create({ body: { code: 'token-org', name: 'Token org', email: 'tokens@acme.dev' } })
  await page.goto('/profile/api-tokens')
  await page.getByRole('link', { name: 'Create API token' }).click()
  await page.getByLabel('Token name').fill('laptop')
  await clickButton(page, 'Create')
  const dialog = page.getByRole('dialog', { name: 'Store key' })
  const key = await dialog.locator('code').first().innerText()
  await clickButton(page, 'I have stored the key')
  await rowOf(page, 'laptop').getByText('never').first().waitFor()
  const orgs = await shoal.as(key).orgs.list({})
  expect(orgs.map(({ code, roleType }) => [code, roleType])).toContainEqual(['token-org', 'admin'])
  await context.close()
})

test('a deleted API token is rejected', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'deletes@acme.dev')
  const { token: key } = await api.user.createApiToken({ body: { name: 'laptop', expiresAt: null } })
  await page.goto('/profile/api-tokens')
  await openRowMenu(page, 'laptop')
  await menuItem(page, 'Delete').click()
  await clickButton(page, 'Delete')
  await heading(page, 'No API tokens yet')
  await page.getByText('npm install --global @subsquid/cli@3.2.3 joi@17.13.3').waitFor()
  await expect(shoal.as(key).orgs.list({})).rejects.toBeInstanceOf(ApiError)
  await context.close()
})

test('the terms dialog blocks the console; closing the dialog signs the user out', async () => {
  const { context, page } = await signInAs(browser, shoal, 'tess@acme.dev', { isNew: true })
  await page.goto('/squids')
  await page.getByRole('dialog', { name: 'Terms of service' }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog', { name: 'Terms of service' }).count()).toBe(1)
  await expect.poll(() => page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
  expect(await axeFlaws(page)).toEqual([])
  await clickButton(page, 'Close')
  await heading(page, 'Sign in')
  expect(await page.evaluate(() => localStorage.getItem('user_token'))).toBeNull()
  await context.close()
})

test('the navigation has the links to documentation and support from the settings of the installation', async () => {
  const { context, page } = await signInAs(browser, shoal, 'reader@acme.dev')
  await page.goto('/squids')
  const addressOf = (name: string) => page.getByRole('link', { name }).getAttribute('href')
  await expect.poll(() => addressOf('Documentation')).toBe('https://example.com/docs')
  await expect.poll(() => addressOf('Contact support')).toBe('mailto:help@example.com')
  const targetOf = (name: string) => page.getByRole('link', { name }).getAttribute('target')
  expect(await targetOf('Contact support')).toBeNull()
  // The default, which is on the same server.
  await page.route('**/secrets', async (route) => {
    const response = await route.fetch()
    const body = (await response.text()).replace('https://example.com/docs', '/docs/')
    await route.fulfill({ response, body })
  })
  await page.goto('/secrets')
  await expect.poll(() => addressOf('Documentation')).toBe('/docs/')
  expect(await targetOf('Documentation')).toBe('_blank')
  await context.close()
})

test('the page of an invalid confirmation link says that it is no longer valid', async () => {
  const { context, page } = await signInAs(browser, shoal, 'reader@acme.dev')
  await page.goto('/api/v1/auth/email/confirm?code=none')
  await expect.poll(() => page.getByText('This confirmation link is no longer valid').count()).toBe(1)
  await context.close()
})

test('a confirmation link of another account offers to sign in as that account', async () => {
  const { context, page } = await signInAs(browser, shoal, 'reader@acme.dev')
  await page.goto('/confirm-email?code=none&email=another@acme.dev')
  await waitForExactText(page, 'This link belongs to another account')
  await clickButton(page, 'Sign out and continue')
  await waitForText(page, /Sign in as another@acme.dev to confirm it/)
  await expect.poll(() => page.getByLabel('Work email').inputValue()).toBe('another@acme.dev')
  await context.close()
})

test('a user who forgot the password sets a new password, which ends the API tokens', async () => {
  const owner = await signInAs(browser, shoal, 'forgetful@acme.dev')
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  await page.goto('/')
  await page.getByRole('link', { name: 'Forgot password?' }).click()
  await heading(page, 'Forgot password')
  await page.getByLabel('Work email').fill('forgetful@acme.dev')
  await clickButton(page, 'Send recovery email')
  await waitForExactText(page, 'A recovery email has been sent. Check your inbox.')
  await page.goto(await newestLink(shoal, 'forgetful@acme.dev'))
  // A token that an attacker could have created.
  await owner.api.user.createApiToken({ body: { name: 'backdoor', expiresAt: null } })
  await page.getByLabel('Create new password').fill('another password')
  await page.getByLabel('Confirm password').fill('another password')
  await clickButton(page, 'Change password')
  await waitForExactText(page, 'Password has been changed')
  await page.getByRole('listitem').filter({ hasText: 'backdoor' }).waitFor()
  await page.getByRole('main').getByRole('link', { name: 'Login' }).click()
  await heading(page, 'Sign in')
  const body = { email: 'forgetful@acme.dev', password: 'another password' }
  await expect(shoal.as('').auth.signIn({ body })).resolves.toHaveProperty('token')
  await Promise.all([owner.context.close(), context.close()])
})

test('the sign-in form says when the server cannot be reached or fails', async () => {
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  const signInUrl = '**/api/v1/auth/signin'
  const trySigningIn = () => signInInBrowser(page, { email: 'reader@acme.dev', password })
  await page.route(signInUrl, (route) => route.abort())
  await trySigningIn()
  await waitForExactText(page, 'Unknown error, please, try once again or choose another method.')
  await page.unroute(signInUrl)
  await page.route(signInUrl, (route) => route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad</h1>' }))
  await trySigningIn()
  await waitForExactText(page, 'Unknown API error. Please try alter')
  expect(await page.evaluate(() => localStorage.getItem('user_token'))).toBeNull()
  await context.close()
})

test('a user signs in with GitHub', async () => {
  const account = await signInAs(browser, shoal, 'provider@acme.dev')
  const context = await newUser(browser, shoal)
  const page = await context.newPage()
  // The simulated GitHub redirects back immediately; oauth.test.ts tests how the server uses the code.
  await page.goto('/?organization=kept')
  await expect.poll(() => page.getByRole('button', { name: 'Sign in with Google' }).count()).toBe(0)
  await page.route('https://github.com/**', (route) => {
    const { searchParams } = new URL(route.request().url())
    const back = `${shoal.url}/oauth/github?code=a-code&state=${searchParams.get('state') ?? ''}`
    return route.fulfill({ status: 302, headers: { location: back } })
  })
  const newSession = await shoal.as('').auth.signIn({ body: { email: 'provider@acme.dev', password } })
  let exchangedMs = Infinity
  await page.route('**/api/v1/oauth/github/auth', (route) => {
    const body = route.request().postDataJSON() as { code: string; state: string }
    expect(body).toEqual({ code: 'a-code', state: expect.stringMatching(/./) as string })
    exchangedMs = performance.now()
    return route.fulfill({ json: { payload: newSession } })
  })
  await clickButton(page, 'Sign in with GitHub')
  await page.waitForURL(/\/squids\?organization=kept$/)
  // Spec 9: the console redirects half a second after the response.
  expect(performance.now() - exchangedMs).toBeGreaterThanOrEqual(500)
  await expect.poll(() => page.evaluate(() => localStorage.getItem('user_token'))).toBe(newSession.token)
  await page.goto('/oauth/github')
  await heading(page, 'Squids')
  await Promise.all([account.context.close(), context.close()])
})

test('the form for API tokens rejects an empty name and the name of an existing token', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'forms@acme.dev')
  await page.goto('/profile/api-tokens/create')
  await clickButton(page, 'Create')
  await waitForExactText(page, 'Token name is required and must be unique')
  const nameField = page.getByLabel('Token name')
  await nameField.fill('twice')
  await clickButton(page, 'Create')
  await clickButton(page, 'I have stored the key')
  await page.getByRole('link', { name: 'Create API token' }).click()
  await nameField.fill('twice')
  await clickButton(page, 'Create')
  await waitForExactText(page, 'Token name is required and must be unique')
  expect((await api.user.listApiTokens({})).map(({ name }) => name)).toEqual(['twice'])
  await context.close()
})

test('the form for the full name rejects special symbols and an empty name', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'forms@acme.dev')
  await page.goto('/profile/settings')
  await page.getByLabel('Full name').fill('<script>')
  await clickButton(page, 'Save')
  await waitForExactText(page, 'Special symbols are not allowed')
  await page.getByLabel('Full name').fill('')
  await waitForExactText(page, 'Name is required')
  await page.getByLabel('Full name').fill('Fay Forms')
  await clickButton(page, 'Save')
  await waitForExactText(page, 'Your name has been changed')
  expect((await api.user.get({})).fullName).toBe('Fay Forms')
  await context.close()
})

test('the form for the password validates all fields, and changes the password', async () => {
  const { context, page } = await signInAs(browser, shoal, 'changes@acme.dev')
  await page.goto('/profile/settings')
  await clickButton(page, 'Change password')
  for (const text of ['Password is required', 'Password confirm is required']) await waitForExactText(page, text)
  await page.getByLabel('Current password').fill('not this one')
  await page.getByLabel('New password').fill('short')
  await waitForExactText(page, 'Must be at least 8 characters')
  await page.getByLabel('New password').fill('a longer password')
  await page.getByLabel('Confirm password').fill('another password')
  await waitForExactText(page, 'Passwords must match')
  await page.getByLabel('Confirm password').fill('a longer password')
  await clickButton(page, 'Change password')
  await waitForExactText(page, 'The current password is wrong')
  await page.getByLabel('Current password').fill(password)
  await clickButton(page, 'Change password')
  await waitForExactText(page, 'Password has been changed')
  const body = { email: 'changes@acme.dev', password: 'a longer password' }
  await expect(shoal.as('').auth.signIn({ body })).resolves.toHaveProperty('token')
  await context.close()
})

test('"Sign out everywhere" ends the session, and the user can sign in again', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'everywhere@acme.dev')
  await page.goto('/profile/settings')
  await page.getByRole('row').filter({ hasText: 'This session' }).waitFor()
  await clickButton(page, 'Sign out everywhere')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Sign out everywhere' }).click()
  await heading(page, 'Sign in')
  await expect(api.user.get({})).rejects.toBeInstanceOf(ApiError)
  await signInInBrowser(page, { email: 'everywhere@acme.dev', password })
  await heading(page, 'Squids')
  await context.close()
})

test('if the script of Turnstile cannot be loaded, the user can try the bot check again', async () => {
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
  // The first request for the script is blocked, and the second returns an empty script, as content blockers do. The third succeeds.
  const responses: ((route: Route) => Promise<void>)[] = [
    (route) => route.abort(),
    (route) => route.fulfill({ contentType: 'text/javascript', body: '' }),
    (route) => route.fulfill({ contentType: 'text/javascript', body: api }),
  ]
  await page.route('https://challenges.cloudflare.com/**', (route) => responses.shift()?.(route))
  await page.goto('/signup')
  const submit = page.getByRole('button', { name: 'Create account' })
  for (const remaining of [2, 1]) {
    await page.getByText('The bot check could not be loaded.').waitFor()
    expect(responses).toHaveLength(remaining)
    await expect.poll(() => submit.getAttribute('aria-disabled')).toBe('true')
    await clickButton(page, 'Try again')
  }
  await expect.poll(() => submit.getAttribute('aria-disabled')).toBeNull()
  expect(responses).toEqual([])
  await context.close()
})

test('preview mode sets a long-lived cookie, reloads the page and shows the Portal; it changes even while the server is unreachable', async () => {
  const { context, page, api } = await signInAs(browser, shoal, 'pia@acme.dev')
  await api.orgs.create({ body: { code: 'preview-org', name: 'Preview org', email: 'pia@acme.dev' } })
  await page.goto('/preview?organization=preview-org')
  await page.evaluate('window.isFirstDocument = true')
  await page.getByRole('switch', { name: 'Preview mode' }).click()
  // `waitForFunction` evaluates a text in the page, which the content security policy does not allow. `evaluate` fails during the reload.
  const isReloaded = () => page.evaluate<boolean>('!window.isFirstDocument').catch(() => false)
  await expect.poll(isReloaded).toBe(true)
  await waitForExactText(page, 'PREVIEW')
  await page.getByRole('link', { name: /Portal/ }).waitFor()
  const beta = (await context.cookies()).find(({ name }) => name === 'beta')
  // The cookie is set for ten years, but Chromium limits cookies to 400 days.
  expect(beta?.expires).toBeGreaterThan(Date.now() / 1000 + 399 * 86_400)
  await context.setOffline(true)
  await page.getByRole('switch', { name: 'Preview mode' }).click()
  await page.getByRole('link', { name: /Portal/ }).waitFor({ state: 'detached' })
  expect(await page.getByText('PREVIEW', { exact: true }).count()).toBe(0)
  await heading(page, 'Preview')
  expect((await context.cookies()).some(({ name }) => name === 'beta')).toBe(false)
  await context.close()
})

test('no browser reported an error or a violation of the content security policy', () => {
  expect(pageErrors).toEqual([])
})
