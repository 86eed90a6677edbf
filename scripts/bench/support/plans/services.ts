import { OAuth2Server } from 'oauth2-mock-server'
import type { WorkerApp } from '../../../../server/src/app.ts'
import type { createHttpApp } from '../../../../server/src/http/app.ts'
import { findMail, newestMails } from '../../../../server/src/mail/store.ts'
import { isEventRecorded, recordEvent } from '../../../../server/src/modules/billing/payments/payment-store.ts'
import { deleteChallenges, insertChallenge } from '../../../../server/src/modules/certificates/store.ts'
import { countByServer, saveOwnerPassword } from '../../../../server/src/modules/databases/database-store.ts'
import {
  deleteLogin,
  insertLogin,
  markClosed,
  selectLogins,
} from '../../../../server/src/modules/databases/logins-store.ts'
import { lastStartMs } from '../../../../server/src/modules/deployments/store.ts'
import { selectActive } from '../../../../server/src/modules/domains/store.ts'
import { orgCodeOf } from '../../../../server/src/modules/rpc/store.ts'

/** The client id and secret of the provider that `startProvider` starts. */
export const providerSettings = { SHOAL_GITHUB_CLIENT_ID: 'bench', SHOAL_GITHUB_CLIENT_SECRET: 'bench' }

/** Starts a sign-in provider, whose user has the email of a user of the filled database. */
export async function startProvider() {
  const server = new OAuth2Server()
  await server.issuer.keys.generate('RS256')
  await server.start(0, '127.0.0.1')
  const baseUrl = `http://127.0.0.1:${server.address().port}`
  const profile = { id: 1_000_000_000, login: 'sample', name: null, avatar_url: null }
  const emails = [{ email: 'user-7@example.com', primary: true, verified: true }]
  server.service.addRoute('GET', '/user', (_, response) => void response.end(JSON.stringify(profile)))
  server.service.addRoute('GET', '/user/emails', (_, response) => void response.end(JSON.stringify(emails)))
  const github = {
    authorizeUrl: `${baseUrl}/authorize`,
    tokenUrl: `${baseUrl}/token`,
    profileUrl: `${baseUrl}/user`,
    emailsUrl: `${baseUrl}/user/emails`,
  }
  return { external: { github }, [Symbol.asyncDispose]: () => server.stop() }
}

/** Signs in with the provider, as a browser does. @throws if the server rejects the sign-in */
export async function signInWithProvider(http: Awaited<ReturnType<typeof createHttpApp>>): Promise<void> {
  const started = await http.inject('/api/v1/oauth/github/url')
  const consent = await fetch(started.json<{ payload: { url: string } }>().payload.url, { redirect: 'manual' })
  const { searchParams } = new URL(consent.headers.get('location') ?? '')
  const { statusCode, body } = await http.inject({
    method: 'POST',
    url: '/api/v1/oauth/github/auth',
    payload: { code: searchParams.get('code'), state: searchParams.get('state') },
    headers: { cookie: String(started.headers['set-cookie']).split(';')[0] ?? '' },
  })
  if (statusCode >= 400) throw new Error(`The sign-in with a provider failed: ${statusCode} ${body}`)
}

/**
 * Sends the statements whose callers need what the bench does not have: a mail server, Stripe, an ACME authority, DNS servers, a cluster
 * whose programs have their own logins, a second server for the databases of squids, or a manifest with the addon `rpc`.
 */
export async function callForMissingServices({ db }: WorkerApp, squidId: number): Promise<void> {
  const now = new Date()
  await findMail(db, 500)
  await newestMails(db, 50)
  await isEventRecorded(db, 'event-100')
  await recordEvent(db, 'event-new', now)
  const name = 'api-4.org-1.example.com'
  const challenge = { token: 'token-new', name, type: 'tls-alpn-01', keyAuthorization: 'authorization' } as const
  await insertChallenge(db, { ...challenge, createdAt: now })
  await deleteChallenges(db, name)
  await selectActive(db, 'api-1.org-1.example.com')
  await countByServer(db)
  await saveOwnerPassword(db, squidId, 'password')
  await lastStartMs(db, squidId)
  await orgCodeOf(db, 2)
  const login = await insertLogin(db, { squidId, workload: 'sample', container: 'api', sealedPassword: 'password' })
  await selectLogins(db, squidId)
  await markClosed(db, login.id, now)
  await deleteLogin(db, login.id)
}
