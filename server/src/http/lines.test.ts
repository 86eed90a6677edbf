import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { minutes } from '../clock.ts'
import { followLogs, type Follower } from '../modules/logs/testing/follower.ts'
import { insertSquid } from '../modules/versions/store.ts'
import { startTestApp, type TestApp, type TestOrg } from '../testing/index.ts'
import { until } from '../testing/until.ts'

let t: TestApp
let org: TestOrg
const followers: Follower[] = []
beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
  await insertSquid(t.app.db, { orgId: org.id, name: 'followed', slot: 'v1' })
})
afterEach(() => {
  for (const follower of followers.splice(0)) follower.disconnect()
})
afterAll(() => t?.close())

async function follow(token: string): Promise<Follower> {
  const url = `${await t.listen()}/api/v1/orgs/${org.code}/squids/followed@v1/logs/follow`
  const follower = await followLogs(url, token)
  followers.push(follower)
  await until(() => expect(follower.heartbeats).toBeGreaterThan(0))
  return follower
}

test('a stream ends when its caller may no longer read it, and otherwise continues', async () => {
  const [signedOut, removed] = [await t.make.member(org, 'developer'), await t.make.member(org, 'developer')]
  const password = 'a long enough password'
  const operator = await t.make.operator({ password })
  await t.as(operator).operators.confirmPassword({ body: { password } })
  await t.as(operator).operators.openSupport({ params: { code: org.code } })
  const tokens = {
    'a session': signedOut.token,
    'a member': removed.token,
    'an API token that expires': await t.make.token(org.admin, { expiresAt: new Date(t.clock.now().getTime() + 1) }),
    'support access': operator.token,
  }
  const ending = await Promise.all(
    Object.entries(tokens).map(async ([name, token]) => ({ name, follower: await follow(token) })),
  )
  const continuing = await follow(org.admin.token)
  await t.as(signedOut).auth.signOut()
  await t.as(org.admin).orgs.removeMember({ params: { code: org.code, id: String(removed.roleId) } })
  t.clock.advance(minutes(30))
  const heartbeats = continuing.heartbeats
  await until(() => expect(ending.filter(({ follower }) => !follower.isEnded).map(({ name }) => name)).toEqual([]))
  await until(() => expect(continuing.heartbeats).toBeGreaterThan(heartbeats + 1))
  expect(continuing.isEnded).toBe(false)
})
