import type { Client, Contract } from '@shoal/contract'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { newUser } from './browser.ts'
import type { RunningShoal } from './shoal.ts'
import { until } from './until.ts'

type Account = { email: string; password: string; fullName: string }

/** The password of the accounts that `signInAs` creates. */
export const password = 'a password of tests'

/** Fills in the sign-up form, waits until the page has solved the bot check, and submits the form. Does not wait for the response. */
export async function signUpInBrowser(page: Page, { email, fullName, password }: Account): Promise<void> {
  await page.goto('/signup')
  await page.getByLabel('Full name').fill(fullName)
  await page.getByLabel('Work email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByLabel('I accept the terms of service').check()
  const submit = page.getByRole('button', { name: 'Create account' })
  // The page solves the bot check in the background.
  await until(async () => (await submit.getAttribute('aria-disabled')) === null, 'the bot check is solved')
  await submit.click()
}

/** Fills in the sign-in form and submits it. Does not wait for the response. */
export async function signInInBrowser(page: Page, { email, password }: Omit<Account, 'fullName'>): Promise<void> {
  await page.goto('/')
  await page.getByLabel('Work email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Returns the emails to this address on the outbox page, newest first, as HTML. */
export async function emailsTo(shoal: RunningShoal, email: string): Promise<string[]> {
  const key = new URL(shoal.outboxUrl ?? '').searchParams.get('key') ?? ''
  const html = await (await fetch(`${shoal.url}/outbox`, { headers: { cookie: `shoal_outbox=${key}` } })).text()
  return html.split('<article>').filter((article) => article.includes(`To ${email}<`))
}

/** Returns the link in the newest email to this address. */
export function newestLink(shoal: RunningShoal, email: string): Promise<string> {
  return until(async () => {
    const [newest] = await emailsTo(shoal, email)
    return /href="([^"]+)"/.exec(newest ?? '')?.[1]?.replaceAll('&#38;', '&')
  }, `an email to ${email} arrives`)
}

type Person = { context: BrowserContext; page: Page; token: string; api: Client<Contract> }
type PersonOptions = {
  /** True: the user has neither accepted the terms nor filled in the questionnaire. */
  isNew?: boolean
  /** False: the user has not seen the page of invitations yet. Default: true. */
  areInvitesChecked?: boolean
  /** True: the user has not seen the onboarding tour yet, so the console shows it. */
  hasTour?: boolean
  /** The id of the selected organization. */
  userOrg?: number
}

/** `<server> <email>` of the accounts that `signInAs` has created. */
const accounts = new Set<string>()

/** Opens a page in which a user with a confirmed account is signed in. The first call for an email creates the account. */
export async function signInAs(
  browser: Browser,
  shoal: RunningShoal,
  email: string,
  options: PersonOptions = {},
): Promise<Person> {
  const account = `${shoal.url} ${email}`
  if (!accounts.has(account)) {
    const name = email.split(/[@.]/).slice(0, 2).join(' ')
    await shoal.cli('user', 'add', '--email', email, '--name', name, '--password-stdin', { input: password })
    accounts.add(account)
  }
  const { token } = await shoal.as('').auth.signIn({ body: { email, password } })
  const api = shoal.as(token)
  if (!options.isNew) {
    const onboardingForm = { occupation: 'Analyst', source: 'Google', usage: 'DeFi' }
    await api.user.completeOnboarding({ body: { policyAccepted: true, onboardingForm } })
  }
  const context = await newUser(browser, shoal, {
    user_token: token,
    tmp_invites_checked: String(options.areInvitesChecked ?? true),
    ...(options.hasTour && { onboardingGuide: '0' }),
    ...(options.userOrg !== undefined && { userOrg: String(options.userOrg) }),
  })
  return { context, page: await context.newPage(), token, api }
}
