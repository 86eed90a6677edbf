import type { ApiError } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { days } from '../../clock.ts'
import { solveBotCheck, startTestApp, type TestApp } from '../../testing/index.ts'
import { authJobs } from './index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const input = { fullName: 'Grace Hopper', password: 'correct horse' }
const linkIn = (text: string) => /https?:\S+/.exec(text)?.[0] ?? ''

async function signUp(email: string, overrides: { policyAccepted?: true; subscribeToNewsletter?: boolean } = {}) {
  const body = { ...input, ...overrides, email, turnstileToken: await solveBotCheck(t) }
  return t.as(null).auth.signUp({ body })
}

async function mailsTo(email: string) {
  await t.runJobs(authJobs(t.app))
  return (await t.mails()).filter((mail) => mail.to === email)
}

const codeIn = (text = '') => new URL(/https?:\S+/.exec(text)?.[0] ?? 'http://none').searchParams.get('code') ?? 'none'

/** Sends the code of the emailed link in a session, as the console's page does. */
const confirm = (token: string | null, text?: string) => t.as(token).auth.confirmEmail({ body: { code: codeIn(text) } })

/** Opens a link without a session, as a mail program does. */
const open = (url: string) => t.http.inject(new URL(url).pathname + new URL(url).search)

const invalidLink = { status: 400, body: { code: 'LINK_INVALID' } }

test('signing up signs the user in to an unconfirmed account with a playground of one squid', async () => {
  const { token } = await signUp(' Grace@Example.com ')
  const me = await t.as(token).user.get()
  expect(me).toMatchObject({ email: 'grace@example.com', username: 'grace', fullName: 'Grace Hopper' })
  expect(me).toMatchObject({ emailVerified: false, policyAccepted: false, onboardingForm: null })
  expect(me.organizations).toEqual([
    expect.objectContaining({ limits: { squids: 1, playground: true }, roleType: 'admin', status: 'DRAFT' }),
  ])
  expect(me.organizations[0]?.code).toMatch(/^[a-z0-9-]{3,30}$/)
})

test('the session token contains shoalWalletAuthorized: false', async () => {
  const { token } = await signUp('wallet@example.com')
  const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  expect(payload).toMatchObject({ shoalWalletAuthorized: false })
})

test('terms accepted at sign-up need not be accepted again', async () => {
  const { token } = await signUp('terms@example.com', { policyAccepted: true })
  expect(await t.as(token).user.get()).toMatchObject({ policyAccepted: true })
})

test('the emailed link opens the page that confirms the email in a session of the account', async () => {
  const { token } = await signUp('confirm@example.com')
  await expect(t.as(token).orgs.list()).rejects.toMatchObject({ status: 405, message: 'Please, confirm your email.' })
  const [mail] = await mailsTo('confirm@example.com')
  expect(mail).toMatchObject({ subject: 'Confirm your email' })
  const link = new URL(linkIn(mail?.text ?? ''))
  expect(link.origin + link.pathname).toBe('http://localhost:4000/confirm-email')
  expect(link.searchParams.get('email')).toBe('confirm@example.com')
  expect(await confirm(token, mail?.text)).toEqual({ success: true })
  expect(await t.as(token).user.get()).toMatchObject({ emailVerified: true })
  expect(await t.as(token).orgs.list()).toHaveLength(1)
  // Confirming a second time succeeds as well.
  expect(await confirm(token, mail?.text)).toEqual({ success: true })
})

test('the email is not confirmed by opening the link, by a session of another account, or by an API token', async () => {
  const attacker = await signUp('victim@example.com')
  const [mail] = await mailsTo('victim@example.com')
  const code = codeIn(mail?.text)
  // Emails of earlier versions link to this path.
  const opened = await open(`http://localhost:4000/api/v1/auth/email/confirm?code=${code}`)
  expect([opened.statusCode, opened.headers.location]).toEqual([
    302,
    `http://localhost:4000/confirm-email?code=${code}`,
  ])
  await open(linkIn(mail?.text ?? ''))
  await expect(confirm(null, mail?.text)).rejects.toMatchObject({ status: 401 })
  const other = await t.make.user()
  await expect(confirm(await t.make.token(other), mail?.text)).rejects.toMatchObject({ status: 405 })
  await expect(confirm(other.token, mail?.text)).rejects.toMatchObject({
    status: 405,
    body: { code: 'OTHER_ACCOUNT' },
    message: `This link belongs to another account. You are signed in as ${other.email}.`,
  })
  expect(await t.as(attacker.token).user.get()).toMatchObject({ emailVerified: false })
  await expect(t.as(attacker.token).user.listInvites()).rejects.toMatchObject({ status: 405 })
})

test('a confirmation link expires after three days, and a made-up one is invalid', async () => {
  const { token } = await signUp('late@example.com')
  const [mail] = await mailsTo('late@example.com')
  t.clock.advance(days(3))
  await expect(confirm(token, mail?.text)).rejects.toMatchObject(invalidLink)
  await expect(confirm(token, 'http://localhost:4000/confirm-email?code=made-up')).rejects.toMatchObject(invalidLink)
})

test('the link can be requested again', async () => {
  const { token } = await signUp('again@example.com')
  expect(await mailsTo('again@example.com')).toHaveLength(1)
  expect(await t.as(token).user.resendConfirmation()).toEqual({ success: true })
  const mails = await mailsTo('again@example.com')
  expect(mails).toHaveLength(2)
  await confirm(token, mails[0]?.text)
  await t.as(token).user.resendConfirmation()
  expect(await mailsTo('again@example.com')).toHaveLength(2)
})

test('one mailbox receives at most ten confirmation emails per hour, and the response does not reveal the limit', async () => {
  for (let round = 0; round < 3; round++) {
    const { token } = await signUp('flood@example.com')
    for (let call = 0; call < 4; call++) await t.as(token).user.resendConfirmation()
  }
  expect(await mailsTo('flood@example.com')).toHaveLength(10)
  // The limit does not block the owner's recovery email.
  await t.as(null).auth.restore({ body: { email: 'flood@example.com' } })
  expect((await mailsTo('flood@example.com'))[0]?.subject).toBe('Set a new password')
})

test('a sign-up with the email of another account succeeds in the same way; only the mailbox is notified', async () => {
  const owner = await t.make.user({ email: 'taken@example.com', password: 'the real one' })
  const { token } = await signUp('taken@example.com')
  const stranger = t.as(token)
  expect(await stranger.user.get()).toMatchObject({ email: 'taken@example.com', emailVerified: false })
  expect(await stranger.user.resendConfirmation()).toEqual({ success: true })
  const mails = await mailsTo('taken@example.com')
  expect(mails.map((mail) => mail.subject)).toEqual(['You already have an account', 'You already have an account'])
  expect(mails[0]?.text).not.toContain('/confirm-email')
  // The new password signs in to the new account: rejecting it would reveal the other account.
  const again = await t.as(null).auth.signIn({ body: { email: 'taken@example.com', password: input.password } })
  expect(await t.as(again.token).user.get()).toMatchObject({ emailVerified: false })
  const real = await t.as(null).auth.signIn({ body: { email: 'taken@example.com', password: 'the real one' } })
  expect(await t.as(real.token).user.get()).toMatchObject({ id: owner.id, emailVerified: true })
})

test('an email cannot be reserved: it belongs to the first account that confirms it', async () => {
  const squatter = await signUp('contested@example.com')
  const [squattersMail] = await mailsTo('contested@example.com')
  const owner = await signUp('contested@example.com')
  const [ownersMail] = await mailsTo('contested@example.com')
  await confirm(owner.token, ownersMail?.text)
  expect(await t.as(owner.token).user.get()).toMatchObject({ emailVerified: true })
  await expect(confirm(squatter.token, squattersMail?.text)).rejects.toMatchObject(invalidLink)
  expect(await t.as(squatter.token).user.get()).toMatchObject({ emailVerified: false })
})

test.each([
  [{ email: '' }, 'Email is required'],
  [{ email: 'no email' }, 'Must be valid email'],
  [{ fullName: ' ' }, 'Full name is required'],
  [{ fullName: 'A <b>' }, 'Special symbols are not allowed'],
  [{ password: 'short' }, 'Must be at least 8 characters'],
  [{ password: '' }, 'Password is required'],
  [{ turnstileToken: '' }, 'Please solve the bot check'],
])('%j is rejected: %s', async (invalid, message) => {
  const body = { ...input, email: 'valid@example.com', turnstileToken: 'anything', ...invalid }
  const invalidField = { path: Object.keys(invalid), message }
  const error = await t
    .as(null)
    .auth.signUp({ body })
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 400, message })
  expect((error as ApiError).body.invalidFields?.[0]).toMatchObject(invalidField)
})
