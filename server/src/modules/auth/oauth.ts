import { oauthProviders, type EndedCredentials, type OauthProvider } from '@shoal/contract'
import { CodeChallengeMethod, generateCodeVerifier, generateState, OAuth2Client } from 'arctic'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { invalid, notFound } from '../../errors.ts'
import type { Request } from '../call.ts'
import {
  addIdentity,
  confirmAccount,
  deletePassword,
  findConfirmedAccount,
  findIdentity,
  getAccount,
  type Account,
} from './account-store.ts'
import type { Accounts } from './accounts.ts'
import { endCredentials } from './end-credentials.ts'
import { accessEndedMail } from './mails.ts'
import { findProvider, type OauthProfile, type Provider } from './oauth-providers.ts'
import { startSession } from './sessions.ts'
import { requireEnabled } from './sign-in.ts'

/**
 * The cookie binds the provider's response to the browser that requested it, so that a link of an attacker cannot sign a user in to the
 * attacker's account.
 */
const cookieName = 'shoal_oauth'
const lifetimeMs = minutes(10)

const Attempt = z.object({ provider: z.string(), state: z.string(), verifier: z.string(), expiresAtMs: z.number() })

/** Returns the providers whose client id and secret are configured. */
export const configuredProviders = (app: App): OauthProvider[] =>
  oauthProviders.filter((name) => findProvider(app, name) !== null)

/**
 * Returns the URL to redirect the browser to. State and PKCE verifier are in a sealed cookie, so that any API process can finish the
 * sign-in.
 * @throws Refusal 404 if the provider is unknown or not configured
 */
export function startOauth(app: App, name: string, request: Request): string {
  const { key, provider } = requireProvider(app, name)
  const attempt = { provider: key, state: generateState(), verifier: generateCodeVerifier() }
  const expiresAtMs = app.clock.now().getTime() + lifetimeMs
  request.setCookie(
    cookieName,
    app.sealer.seal(JSON.stringify({ ...attempt, expiresAtMs }), 'oauth-attempt'),
    lifetimeMs,
  )
  const { authorizeUrl } = provider.urls
  return createClient(app, key, provider)
    .createAuthorizationURLWithPKCE(
      authorizeUrl,
      attempt.state,
      CodeChallengeMethod.S256,
      attempt.verifier,
      provider.scopes,
    )
    .toString()
}

/** `ended`: the credentials that were revoked because the account's email had not been proven; null if none were. */
type SignedInAccount = { userId: number; isNew: boolean; ended: EndedCredentials | null }

/** A user's identity at a provider. */
type OauthIdentity = { key: OauthProvider; provider: Provider; profile: OauthProfile }

/**
 * Exchanges the provider's code for the user's profile.
 * @throws Refusal 400 when the response does not belong to a request of this browser, or the provider rejects the code
 */
export async function fetchOauthIdentity(
  app: App,
  name: string,
  response: { code: string; state: string },
  request: Request,
): Promise<OauthIdentity> {
  const { key, provider } = requireProvider(app, name)
  const attempt = readAttempt(app, request.cookie(cookieName))
  request.setCookie(cookieName, null, 0)
  if (!attempt || attempt.provider !== key || attempt.state !== response.state) throw oauthFailed(provider)
  return { key, provider, profile: await fetchProfile(app, key, provider, response.code, attempt.verifier) }
}

/**
 * Returns a session token. Finds the account by the user's id at the provider, then by a confirmed email; otherwise creates one.
 * @throws Refusal 400 when there is no account and no confirmed email to create one with; 405 if the account is disabled
 */
export async function finishOauth(
  app: App,
  accounts: Accounts,
  { key, provider, profile }: OauthIdentity,
  request: Request,
): Promise<SignedInAccount & { token: string }> {
  const account = await findOrCreateAccount(app, accounts, key, provider, profile)
  requireEnabled(await getAccount(app.db, account.userId))
  return { ...account, token: await startSession(app, app.db, account.userId, request) }
}

function requireProvider(app: App, name: string): { key: OauthProvider; provider: Provider } {
  const key = oauthProviders.find((candidate) => candidate === name)
  const provider = key ? findProvider(app, key) : null
  if (!key || !provider) throw notFound('Provider')
  return { key, provider }
}

const createClient = (app: App, key: OauthProvider, { clientId, clientSecret }: Provider) =>
  new OAuth2Client(clientId, clientSecret, `${app.config.publicUrl}/oauth/${key}`)

function readAttempt(app: App, cookie: string | null): z.infer<typeof Attempt> | null {
  if (!cookie) return null
  try {
    const attempt = Attempt.parse(JSON.parse(app.sealer.open(cookie, 'oauth-attempt')))
    return attempt.expiresAtMs > app.clock.now().getTime() ? attempt : null
  } catch {
    return null
  }
}

async function fetchProfile(app: App, key: OauthProvider, provider: Provider, code: string, verifier: string) {
  try {
    const client = createClient(app, key, provider)
    const tokens = await client.validateAuthorizationCode(provider.urls.tokenUrl, code, verifier)
    return await provider.readProfile(tokens.accessToken())
  } catch (error) {
    app.log.warn({ err: error, provider: key }, 'sign-in with a provider failed')
    throw oauthFailed(provider)
  }
}

async function findOrCreateAccount(
  app: App,
  accounts: Accounts,
  key: OauthProvider,
  provider: Provider,
  profile: OauthProfile,
): Promise<SignedInAccount> {
  const identity = await findIdentity(app.db, key, profile.subject)
  if (identity) return { userId: identity.userId, isNew: false, ended: null }
  const { email } = profile
  if (!email)
    throw invalid(
      'EMAIL_NOT_VERIFIED',
      `${provider.label} has not confirmed your email. Confirm it there, then try again.`,
    )
  const existing = await findConfirmedAccount(app.db, email)
  const ended = existing && !existing.emailProvenAt ? await transferAccount(app, existing) : null
  const user =
    existing ??
    (await accounts.createUser(app, {
      email,
      fullName: profile.fullName,
      avatarUrl: profile.avatarUrl,
      password: null,
      emailVerified: true,
    }))
  await addIdentity(app.db, {
    provider: key,
    subject: profile.subject,
    userId: user.id,
    createdAt: app.clock.now(),
  })
  return { userId: user.id, isNew: !existing, ended }
}

/**
 * Transfers an account to the user whose email the provider has confirmed, and revokes its password and other credentials: they may belong
 * to an attacker who signed up with this email, because an earlier version confirmed emails when anyone opened the link.
 */
async function transferAccount(app: App, account: Account): Promise<EndedCredentials> {
  const ended = await app.db.transaction(async (tx) => {
    await confirmAccount(tx, account, app.clock.now())
    await deletePassword(tx, account.id)
    return await endCredentials(tx, account.id, {})
  })
  await app.mailer.send(accessEndedMail(app.config, account, ended))
  return ended
}

const oauthFailed = ({ label }: Provider) =>
  invalid('OAUTH_FAILED', `Signing in with ${label} failed or took too long. Please try again.`)
