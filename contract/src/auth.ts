import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Email, NewPassword, Password, PersonName, RequiredVerbatim } from './fields.ts'

export const oauthProviders = ['google', 'github'] as const
export type OauthProvider = (typeof oauthProviders)[number]

/** A session token: stored by the console in localStorage under `user_token`, and sent as `Bearer` (spec 3, 7). */
export const TokenPayload = z.object({ token: z.string() })

export const AuthOptions = z.object({
  /** The providers that are configured. The console hides the buttons of all others. */
  oauth: z.array(z.enum(oauthProviders)),
  botCheck: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('turnstile'), siteKey: z.string() }),
    z.object({ kind: z.literal('altcha'), challengeUrl: z.string() }),
  ]),
  /** True if this installation does not send emails but collects them on a page (the outbox), whose URL the server prints at startup. */
  hasOutbox: z.boolean(),
  /**
   * The URL of the outbox. Null without an outbox, and for browsers that have not opened the address that the server printed, which
   * includes the key.
   */
  outboxUrl: z.string().nullable(),
})
export type AuthOptions = z.infer<typeof AuthOptions>

/** The credentials that a new password revoked. */
export const EndedCredentials = z.object({
  sessions: z.number(),
  apiTokens: z.array(z.object({ name: z.string(), prefix: z.string() })),
  /**
   * Providers that were linked to the account. A provider is linked again when the user next signs in with it, if it confirms the email of
   * the account.
   */
  providers: z.array(z.enum(oauthProviders)),
})
export type EndedCredentials = z.infer<typeof EndedCredentials>

const minute = 60_000

export const auth = {
  getOptions: endpoint({
    method: 'GET',
    path: '/v1/auth/options',
    access: 'public',
    summary: 'Sign-in options of this installation',
    payload: AuthOptions,
  }),
  getChallenge: endpoint({
    method: 'GET',
    path: '/v1/auth/challenge',
    access: 'public',
    summary: 'A new proof-of-work challenge for the bot check, in the format of ALTCHA, not wrapped in `payload`',
    kind: 'file',
    payload: z.null(),
    rateLimit: { calls: 60, perMs: minute },
  }),
  signUp: endpoint({
    method: 'POST',
    path: '/v1/auth/signup',
    access: 'public',
    summary: 'Sign up with email and password',
    body: z.object({
      email: Email,
      fullName: PersonName('Full name is required'),
      password: NewPassword,
      subscribeToNewsletter: z.boolean().optional(),
      /** The terms checkbox of the form. If omitted, the console shows the terms after sign-in (spec 4). */
      policyAccepted: z.literal(true, 'Field must be checked').optional(),
      /** The solution of the bot check, whether Turnstile or ALTCHA. */
      turnstileToken: RequiredVerbatim('Please solve the bot check').max(20_000),
    }),
    payload: TokenPayload,
    rateLimit: { calls: 60, perMs: 60 * minute },
  }),
  signIn: endpoint({
    method: 'POST',
    path: '/v1/auth/signin',
    access: 'public',
    summary: 'Sign in with email and password',
    body: z.object({ email: Email, password: Password }),
    payload: TokenPayload,
    rateLimit: { calls: 100, perMs: 10 * minute },
  }),
  signOut: endpoint({
    method: 'POST',
    path: '/v1/auth/signout',
    access: 'user',
    scope: 'session',
    summary: 'End this session',
    payload: z.object({ success: z.boolean() }),
  }),
  getOauthUrl: endpoint({
    method: 'GET',
    path: '/v1/oauth/{provider}/url',
    access: 'public',
    summary: "URL of a provider's consent page",
    payload: z.object({ url: z.string() }),
    rateLimit: { calls: 60, perMs: 10 * minute },
  }),
  signInWithOauth: endpoint({
    method: 'POST',
    path: '/v1/oauth/{provider}/auth',
    access: 'public',
    summary: "Exchange the provider's code for a session token",
    /** Both values must be exactly those that the provider passed to `/oauth/{provider}`; a cookie proves that this browser started the sign-in. */
    body: z.object({ code: z.string().min(1).max(2000), state: z.string().min(1).max(2000) }),
    payload: TokenPayload,
    rateLimit: { calls: 60, perMs: 10 * minute },
  }),
  /** The specification calls the recovery of an account `restore` (spec 2.1, 7). */
  restore: endpoint({
    method: 'POST',
    path: '/v1/auth/restore',
    access: 'public',
    summary: 'Send a recovery email; the response does not depend on whether the account exists',
    body: z.object({ email: Email }),
    payload: z.object({ success: z.boolean() }),
    rateLimit: { calls: 10, perMs: 10 * minute },
  }),
  confirmRestore: endpoint({
    method: 'POST',
    path: '/v1/auth/restore/confirm',
    access: 'public',
    summary:
      'Set a new password with a recovery token; ends all sessions of the account, revokes its API tokens and unlinks its providers',
    body: z.object({ password: NewPassword, token: RequiredVerbatim('Token is required').max(500) }),
    payload: z.object({ success: z.boolean(), ended: EndedCredentials }),
    rateLimit: { calls: 30, perMs: 10 * minute },
  }),
  confirmEmail: endpoint({
    method: 'POST',
    path: '/v1/auth/email/confirm',
    access: 'user',
    scope: 'session',
    summary: 'Confirm the email of the signed-in account, with the code from the link in the email',
    body: z.object({ code: z.string().min(1).max(500) }),
    payload: z.object({ success: z.boolean() }),
    rateLimit: { calls: 30, perMs: 10 * minute },
  }),
  openConfirmation: endpoint({
    method: 'GET',
    path: '/v1/auth/email/confirm',
    access: 'public',
    summary: 'Redirect to the page of the console that confirms an email; changes nothing',
    query: { code: z.string().min(1).max(500) },
    kind: 'file',
    payload: z.null(),
  }),
}
