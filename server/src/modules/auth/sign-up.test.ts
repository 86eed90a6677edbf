import type { ApiError } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { days } from '../../clock.ts'
import { solvedChallenge, startTestApp, type TestApp } from '../../testing/index.ts'
import { authJobs } from './index.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

const person = { fullName: 'Grace Hopper', password: 'correct horse' }
const linkIn = (text: string) => /https?:\S+/.exec(text)?.[0] ?? ''

async function signUp(email: string, more: { policyAccepted?: true; subscribeToNewsletter?: boolean } = {}) {
  const body = { ...person, ...more, email, turnstileToken: await solvedChallenge(t) }
  return t.as(null).auth.signUp({ body })
}

async function mailsTo(email: string) {
  await t.runJobs(authJobs(t.app))
  return (await t.mails()).filter((mail) => mail.to === email)
}

const follow = async (url: string) =>
  (await t.http.inject(new URL(url).pathname + new URL(url).search)).headers.location

test('signing up signs in, unconfirmed, with a playground of one squid', async () => {
  const { token } = await signUp(' Grace@Example.com ')
  const me = await t.as(token).user.get()
  expect(me).toMatchObject({ email: 'grace@example.com', username: 'grace', fullName: 'Grace Hopper' })
  expect(me).toMatchObject({ emailVerified: false, policyAccepted: false, onboardingForm: null })
  expect(me.organizations).toEqual([
    expect.objectContaining({ limits: { squids: 1, playground: true }, roleType: 'admin', status: 'DRAFT' }),
  ])
  expect(me.organizations[0]?.code).toMatch(/^[a-z0-9-]{3,30}$/)
})

test('the session token says that no wallet is authorized', async () => {
  const { token } = await signUp('wallet@example.com')
  const payload: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  expect(payload).toMatchObject({ shoalWalletAuthorized: false })
})

test('terms accepted on the form need not be accepted again', async () => {
  const { token } = await signUp('terms@example.com', { policyAccepted: true })
  expect(await t.as(token).user.get()).toMatchObject({ policyAccepted: true })
})

test('the mailed link confirms the email and redirects to the console', async () => {
  const { token } = await signUp('confirm@example.com')
  await expect(t.as(token).orgs.list()).rejects.toMatchObject({ status: 405, message: 'Please, confirm your email.' })
  const [mail] = await mailsTo('confirm@example.com')
  expect(mail).toMatchObject({ subject: 'Confirm your email' })
  const link = linkIn(mail?.text ?? '')
  expect(mail?.html).toContain(link)
  expect(await follow(link)).toBe('http://localhost:4000/?emailConfirmed=true')
  expect(await t.as(token).user.get()).toMatchObject({ emailVerified: true })
  expect(await t.as(token).orgs.list()).toHaveLength(1)
  // Mail programs open links before users do.
  expect(await follow(link)).toBe('http://localhost:4000/?emailConfirmed=true')
})

test('a confirmation link expires after three days, and an invented one is invalid', async () => {
  await signUp('late@example.com')
  const [mail] = await mailsTo('late@example.com')
  t.clock.advance(days(3))
  expect(await follow(linkIn(mail?.text ?? ''))).toBe('http://localhost:4000/?emailConfirmed=false')
  expect(await follow('http://localhost:4000/api/v1/auth/email/confirm?code=made-up')).toMatch(/emailConfirmed=false$/)
})

test('the link can be requested again', async () => {
  const { token } = await signUp('again@example.com')
  expect(await mailsTo('again@example.com')).toHaveLength(1)
  expect(await t.as(token).user.resendConfirmation()).toEqual({ success: true })
  const mails = await mailsTo('again@example.com')
  expect(mails).toHaveLength(2)
  expect(await follow(linkIn(mails[0]?.text ?? ''))).toMatch(/emailConfirmed=true$/)
  await t.as(token).user.resendConfirmation()
  expect(await mailsTo('again@example.com')).toHaveLength(2)
})

test('one mailbox gets at most ten of these mails per hour, and the response does not show it', async () => {
  for (let round = 0; round < 3; round++) {
    const { token } = await signUp('flood@example.com')
    for (let call = 0; call < 4; call++) await t.as(token).user.resendConfirmation()
  }
  expect(await mailsTo('flood@example.com')).toHaveLength(10)
  // It does not block the recovery mail of the owner either.
  await t.as(null).auth.restore({ body: { email: 'flood@example.com' } })
  expect((await mailsTo('flood@example.com'))[0]?.subject).toBe('Set a new password')
})

test('a sign-up with a taken email succeeds in the same way; only the mailbox is notified', async () => {
  const owner = await t.make.user({ email: 'taken@example.com', password: 'the real one' })
  const { token } = await signUp('taken@example.com')
  const stranger = t.as(token)
  expect(await stranger.user.get()).toMatchObject({ email: 'taken@example.com', emailVerified: false })
  expect(await stranger.user.resendConfirmation()).toEqual({ success: true })
  const mails = await mailsTo('taken@example.com')
  expect(mails.map((mail) => mail.subject)).toEqual(['You already have an account', 'You already have an account'])
  expect(mails[0]?.text).not.toContain('/email/confirm')
  // The new password works for the new account: refusing it would reveal the other one.
  const again = await t.as(null).auth.signIn({ body: { email: 'taken@example.com', password: person.password } })
  expect(await t.as(again.token).user.get()).toMatchObject({ emailVerified: false })
  const real = await t.as(null).auth.signIn({ body: { email: 'taken@example.com', password: 'the real one' } })
  expect(await t.as(real.token).user.get()).toMatchObject({ id: owner.id, emailVerified: true })
})

test('an email cannot be reserved: it belongs to the first account that confirms it', async () => {
  const squatter = await signUp('wanted@example.com')
  const [squattersMail] = await mailsTo('wanted@example.com')
  const owner = await signUp('wanted@example.com')
  const [ownersMail] = await mailsTo('wanted@example.com')
  expect(await follow(linkIn(ownersMail?.text ?? ''))).toMatch(/emailConfirmed=true$/)
  expect(await t.as(owner.token).user.get()).toMatchObject({ emailVerified: true })
  expect(await follow(linkIn(squattersMail?.text ?? ''))).toMatch(/emailConfirmed=false$/)
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
])('%j is refused: %s', async (wrong, message) => {
  const body = { ...person, email: 'valid@example.com', turnstileToken: 'anything', ...wrong }
  const refused = { path: Object.keys(wrong), message }
  const error = await t
    .as(null)
    .auth.signUp({ body })
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ status: 400, message })
  expect((error as ApiError).body.invalidFields?.[0]).toMatchObject(refused)
})
