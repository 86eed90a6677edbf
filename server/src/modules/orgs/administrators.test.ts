import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { lockMembership } from './members.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t.close())

/** A request in which `caller` changes the role of `target` or removes that member. A caller who is the target leaves. */
type MemberRequest = { caller: number; target: number; action: 'admin' | 'developer' | 'viewer' | 'remove' }
const memberCount = 3
const memberIndex = fc.nat({ max: memberCount - 1 })
const memberRequest: fc.Arbitrary<MemberRequest> = fc.record({
  caller: memberIndex,
  target: memberIndex,
  action: fc.constantFrom('admin', 'developer', 'viewer', 'remove'),
})

/**
 * Sends all requests concurrently. Returns their HTTP statuses (0 for a success) and the number of administrators that remain.
 */
async function sendConcurrently(requests: MemberRequest[]) {
  const org = await t.make.org()
  const others = [await t.make.member(org, 'admin'), await t.make.member(org, 'admin')]
  const members = [org.admin, ...others]
  const outcomes = await Promise.all(
    requests.map(async ({ caller: callerIndex, target: targetIndex, action }) => {
      const [caller, target] = [members[callerIndex], members[targetIndex]]
      if (!caller || !target) throw new Error('no such member')
      const params = { code: org.code, id: String(target.roleId) }
      const { orgs } = t.as(caller)
      const call =
        action === 'remove' ? orgs.removeMember({ params }) : orgs.changeRole({ params, body: { roleType: action } })
      return call.then(
        () => 0,
        (error: { status: number }) => error.status,
      )
    }),
  )
  const { rows } = await t.app.database.pool.query<{ admins: string }>(
    `select count(*) as admins from roles where org_id = ${org.id} and type = 'admin' and user_id is not null`,
  )
  return { outcomes, admins: Number(rows[0]?.admins) }
}

test('an organization always has an administrator, even after any concurrent changes by its administrators', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(memberRequest, { minLength: 2, maxLength: 8 }), async (requests) => {
      const { outcomes, admins } = await sendConcurrently(requests)
      expect(admins).toBeGreaterThan(0)
      // A deadlock or another failure would return 500.
      for (const status of outcomes) expect([0, 404, 405]).toContain(status)
    }),
    { numRuns: 25 },
  )
}, 120_000)

test('of two administrators who demote each other concurrently, one succeeds', async () => {
  for (let round = 0; round < 6; round++) {
    const { outcomes } = await sendConcurrently([
      { caller: 0, target: 2, action: 'remove' },
      { caller: 0, target: 1, action: 'viewer' },
      { caller: 1, target: 0, action: 'viewer' },
    ])
    expect(outcomes.slice(1).toSorted((a, b) => a - b)).toEqual([0, 405])
  }
})

test('a request fails if the caller loses the permission while it waits for the lock', async () => {
  const org = await t.make.org()
  const demoted = await t.make.member(org, 'admin')
  const orgScope = { id: org.id, code: org.code }
  const actor = { userId: demoted.id } as Parameters<typeof lockMembership>[2]
  await t.as(org.admin).orgs.changeRole({
    params: { code: org.code, id: String(demoted.roleId) },
    body: { roleType: 'viewer' },
  })
  const lock = () => t.app.db.transaction((tx) => lockMembership(tx, orgScope, actor, 'role.write'))
  await expect(lock()).rejects.toMatchObject({ status: 405 })
  await t.as(org.admin).orgs.removeMember({ params: { code: org.code, id: String(demoted.roleId) } })
  await expect(lock()).rejects.toMatchObject({ status: 404 })
})
