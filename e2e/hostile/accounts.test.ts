import { afterAll, beforeAll, expect, test } from 'vitest'
import { addOrg, adminPassword, type Org } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySimulated } from '../support/simulated-squid.ts'

let shoal: Shoal
let owner: Org
let other: Org
beforeAll(async () => {
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  ;[owner, other] = [await addOrg(shoal, 'owners'), await addOrg(shoal, 'others')]
})
afterAll(async () => {
  await shoal?.end()
})

const sessionOf = async ({ email }: Org) =>
  (await shoal.as('').auth.signIn({ body: { email, password: adminPassword } })).token

test('two administrators who demote or remove each other at the same time leave at least one administrator', async () => {
  const rounds = 12
  const [first, second] = [shoal.as(await sessionOf(owner)), shoal.as(await sessionOf(other))]
  const outcomes: string[] = []
  for (let round = 0; round < rounds; round++) {
    const params = { code: `race-${round}` }
    await first.orgs.create({ body: { code: params.code, name: 'Race', email: owner.email } })
    await first.orgs.inviteMember({ params, body: { email: other.email, roleType: 'admin' } })
    const invitation = (await second.user.listInvites()).find(({ organization }) => organization.code === params.code)
    await second.orgs.acceptInvite({ params: { ...params, id: String(invitation?.id) }, body: undefined })
    const roles = await first.orgs.listRoles({ params })
    const roleOf = ({ email }: Org) => String(roles.find((role) => role.email === email)?.id)
    const body = { roleType: 'viewer' as const }
    // Every second time, they remove each other.
    const attack = (api: typeof first, victim: Org) =>
      round % 2 === 0
        ? api.orgs.changeRole({ params: { ...params, id: roleOf(victim) }, body })
        : api.orgs.removeMember({ params: { ...params, id: roleOf(victim) } })
    const results = await Promise.allSettled([attack(first, other), attack(second, owner)])
    const codes = [await readRoles(first, params), await readRoles(second, params)].find((list) => list !== null) ?? []
    expect(codes.filter((type) => type === 'admin')).toHaveLength(1)
    outcomes.push(
      results
        .map(({ status }) => status)
        .toSorted()
        .join(' and '),
    )
  }
  // Exactly one of the two calls succeeds.
  expect(new Set(outcomes)).toEqual(new Set(['fulfilled and rejected']))
})

/** Returns the roles of an organization; null if the caller is no longer a member. */
const readRoles = (api: ReturnType<Shoal['as']>, params: { code: string }) =>
  api.orgs.listRoles({ params }).then(
    (roles) => roles.map(({ type }) => type),
    () => null,
  )

test('a stolen CI token can deploy, and can do nothing else in its organization', async () => {
  const params = { code: owner.org }
  const session = shoal.as(await sessionOf(owner))
  const { token } = await session.user.createApiToken({
    body: { name: 'ci', expiresAt: null, scope: 'deploy', organization: owner.org },
  })
  const deployed = await deploySimulated(
    { shoal, ...owner, token, api: shoal.as(token) },
    { name: 'squid', slot: 'v1' },
  )
  expect(deployed.failed).toBe('NO')

  /** Calls with which an attacker who has a token could take over or damage the organization. */
  const takeOverCalls = (api: ReturnType<Shoal['as']>): Record<string, () => Promise<unknown>> => ({
    'invites an administrator': () =>
      api.orgs.inviteMember({ params, body: { email: other.email, roleType: 'admin' } }),
    'reads the RPC token': () => api.rpc.getToken({ params }),
    'replaces the RPC token': () => api.rpc.createToken({ params }),
    'changes the email of the organization': () =>
      api.orgs.update({ params, body: { name: 'Owners', email: 'evil@evil.dev' } }),
    'adds a receiver of alerts': () =>
      api.alerts.addChannel({ params, body: { type: 'email', name: 'Evil', address: 'evil@evil.dev' } as never }),
    'exports the database': () => api.squids.exportDatabase({ params: { ...params, reference: 'squid@v1' } }),
    'creates an API token': () => api.user.createApiToken({ body: { name: 'evil', expiresAt: null } }),
    'changes the password': () =>
      api.user.changePassword({ body: { oldPassword: adminPassword, newPassword: 'a new password' } }),
    'deletes the organization': () => api.orgs.delete({ params }),
    'reads another organization': () => api.orgs.get({ params: { code: other.org } }),
  })
  for (const [name, attack] of Object.entries(takeOverCalls(shoal.as(token)))) {
    const error = await attack().then(
      () => 'succeeded',
      ({ status, body }: { status: number; body?: { code: string } }) => `${status} ${body?.code}`,
    )
    expect([name, error]).toEqual([name, expect.stringMatching(/^(405 (TOKEN_SCOPE|SESSION_NEEDED)|404 NOT_FOUND)$/)])
  }
  const roles = await session.orgs.listRoles({ params })
  expect(roles.map(({ type }) => type)).toEqual(['admin'])

  // With the session of the administrator, the first three succeed, which shows that the calls are correct.
  const own = takeOverCalls(session)
  for (const name of ['invites an administrator', 'reads the RPC token', 'replaces the RPC token'])
    await expect(own[name]?.(), name).resolves.toBeDefined()
})
