import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg, adminPassword, type Org } from '../support/org.ts'
import { newestLink } from '../support/people.ts'
import { makeRelaySquid, type RelayedRequest, type RelayedResponse } from '../support/relay-squid.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { solveBotCheck } from '../support/solve-bot-check.ts'
import { until } from '../support/until.ts'

// Attacks by a squid on accounts. The squid runs in the network of the host (SHOAL_NETWORK=none), as on a host without nftables. It can
// reach the server like the operator's browser, so only keys and sessions protect the accounts.

let shoal: Shoal
let project: string
let victims: Org
/** Sends a request from inside the squid. */
let attack: (request: Omit<RelayedRequest, 'url'> & { path: string }) => Promise<RelayedResponse>

beforeAll(async () => {
  shoal = await startShoal({ SHOAL_NETWORK: 'none', SHOAL_OUTBOX: 'true' })
  victims = await addOrg(shoal, 'victims')
  const attackers = await addOrg(shoal, 'attackers')
  project = makeRelaySquid('relay')
  const deployer = { ...attackers, shoal, project }
  const { failureReason } = await waitForDeployment(deployer, await deploy(deployer, { name: 'relay', slot: 'v1' }))
  expect(failureReason).toBeNull()
  const { port } = new URL(shoal.url)
  attack = async ({ path, headers, ...request }) => {
    const response = await fetch(`${shoal.gatewayUrl}/attackers/relay@v1/api/`, {
      method: 'POST',
      // The `host` header is that of the operator's browser.
      body: JSON.stringify({
        ...request,
        url: `http://127.0.0.1:${port}${path}`,
        headers: { host: `localhost:${port}`, ...headers },
      }),
    })
    return (await response.json()) as RelayedResponse
  }
})

afterAll(async () => {
  await shoal?.end()
  if (project) rmSync(dirname(project), { recursive: true, force: true })
})

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const payloadOf = ({ text }: RelayedResponse) =>
  (JSON.parse(text) as { payload: { token: string; emailVerified: boolean } }).payload
/** Waits for an email to this address with a link to this page, and returns the link. */
const linkTo = (path: string, email: string) =>
  until(async () => {
    const link = new URL(await newestLink(shoal, email))
    return link.pathname.startsWith(path) ? link : null
  }, `an email to ${email} with a link to ${path}`)
const outboxKey = () => new URL(shoal.outboxUrl ?? '').searchParams.get('key') ?? ''

test('a squid that requests a recovery email cannot read it in the outbox without the operator’s key', async () => {
  const { email, org } = victims
  expect(await attack({ method: 'POST', path: '/api/v1/auth/restore', body: { email } })).toMatchObject({ status: 201 })
  const { href: link } = await linkTo('/restore/confirm/', email)

  const key = outboxKey()
  const withoutKey: [path: string, headers: Record<string, string>][] = [
    ['/outbox', {}],
    ['/outbox/', {}],
    ['//outbox', {}],
    ['/outbox?key=', {}],
    [`/outbox?key=${key.slice(0, -1)}`, {}],
    ['/outbox', { cookie: 'shoal_outbox=' }],
    ['/outbox', { cookie: `shoal_outbox=${'A'.repeat(key.length)}` }],
    ['/outbox', { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'localhost' }],
    ['/api/v1/auth/options', {}],
  ]
  for (const [path, headers] of withoutKey) {
    const { status, text } = await attack({ path, headers })
    expect([path, status > 0, text.includes('/restore/confirm/'), text.includes(key)]).toEqual([
      path,
      true,
      false,
      false,
    ])
  }
  expect((await attack({ path: '/outbox' })).status).toBe(403)
  expect(payloadOf(await attack({ path: '/api/v1/auth/options' }))).toMatchObject({ hasOutbox: true, outboxUrl: null })

  const guess = { token: 'A'.repeat(43), password: 'a password of the attacker' }
  expect((await attack({ method: 'POST', path: '/api/v1/auth/restore/confirm', body: guess })).status).toBe(400)
  const { token } = await shoal.as('').auth.signIn({ body: { email, password: adminPassword } })
  expect((await shoal.as(token).orgs.list({})).map(({ code }) => code)).toContain(org)

  // With the key, the same request shows the link.
  const withKey = await attack({ path: '/outbox', headers: { cookie: `shoal_outbox=${key}` } })
  expect(withKey.status).toBe(200)
  expect(withKey.text).toContain(link)
})

test('if a squid signs up with the email of a victim, the account stays unconfirmed when the victim opens the link', async () => {
  const email = 'invited@victims.dev'
  const { org, api } = victims
  const invitation = await api.orgs.inviteMember({ params: { code: org }, body: { email, roleType: 'admin' } })
  const signUp = async (address: string) => {
    const turnstileToken = await solveBotCheck(shoal)
    const body = { email: address, fullName: 'Mallory', password: 'a password of the attacker', turnstileToken }
    const response = await attack({ method: 'POST', path: '/api/v1/auth/signup', body })
    expect(response.status).toBe(201)
    return payloadOf(response).token
  }
  const session = await signUp(email)
  const link = await linkTo('/confirm-email', email)

  // The victim, or a mail program, opens the link in its current form and in that of earlier releases.
  for (const url of [link.href, `${shoal.url}/api/v1/auth/email/confirm${link.search}`])
    expect((await fetch(url, { headers: { accept: 'text/html' } })).status).toBe(200)
  const isConfirmed = async (token: string) =>
    payloadOf(await attack({ path: '/api/v1/user', headers: bearer(token) })).emailVerified
  expect(await isConfirmed(session)).toBe(false)

  const denied: Parameters<typeof attack>[0][] = [
    { path: '/api/v1/user/invites' },
    { path: `/api/v1/orgs/${org}` },
    { method: 'POST', path: `/api/v1/orgs/${org}/roles/${invitation.id}/accept`, body: {} },
    { method: 'POST', path: '/api/v1/user/api-tokens', body: { name: 'lasting', expiresAt: null } },
  ]
  for (const request of denied) {
    const { status, text } = await attack({ ...request, headers: bearer(session) })
    expect([request.path, [403, 404, 405].includes(status), text]).toEqual([request.path, true, text])
  }
  const members = await api.orgs.listRoles({ params: { code: org } })
  expect(members.filter(({ status }) => status === 'accepted').map((member) => member.email)).toEqual([victims.email])

  // The link confirms an account only in the session that created it; the owner of a mailbox can still sign up.
  const ownEmail = 'mallory@attackers.dev'
  const ownSession = await signUp(ownEmail)
  const code = (await linkTo('/confirm-email', ownEmail)).searchParams.get('code') ?? ''
  const confirm = { method: 'POST', path: '/api/v1/auth/email/confirm', body: { code } } as const
  expect((await attack({ ...confirm, headers: bearer(session) })).status).toBe(405)
  expect((await attack({ ...confirm, headers: bearer(ownSession) })).status).toBe(201)
  expect(await isConfirmed(ownSession)).toBe(true)
})

test('stolen credentials of an account are invalid after the owner has recovered the account', async () => {
  const { email, org } = victims
  const { token: session } = await shoal.as('').auth.signIn({ body: { email, password: adminPassword } })
  const created = await shoal
    .as(session)
    .user.createApiToken({ body: { name: 'stolen', expiresAt: null, scope: 'admin' } })
  const secretsStatus = async (token: string) =>
    (await attack({ path: `/api/v1/orgs/${org}/secrets`, headers: bearer(token) })).status
  for (const stolen of [session, created.token, victims.token]) expect(await secretsStatus(stolen)).toBe(200)

  await shoal.as('').auth.restore({ body: { email } })
  const { pathname } = await linkTo('/restore/confirm/', email)
  const token = pathname.split('/').at(-1) ?? ''
  await shoal.as('').auth.confirmRestore({ body: { token, password: 'a new password of the victim' } })
  for (const stolen of [session, created.token, victims.token]) expect(await secretsStatus(stolen)).toBe(401)
})
