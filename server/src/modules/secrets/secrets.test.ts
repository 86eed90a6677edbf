import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { readSecrets } from './index.ts'

let t: TestApp
let org: TestOrg
beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
})
afterAll(() => t?.close())

const update = (name: string, value: string) => ({ action: 'UPDATE' as const, name, value })
const remove = (name: string) => ({ action: 'DELETE' as const, name })
type Change = ReturnType<typeof update> | ReturnType<typeof remove>
const change = (...secrets: Change[]) =>
  t.as(org.admin).secrets.change({ params: { code: org.code }, body: { secrets } })

test('values are masked, names are upper-cased, and containers receive the latest value', async () => {
  expect(await change(update('rpc_url', 'one'), update('KEY', ' two '))).toEqual({
    secrets: { KEY: '***', RPC_URL: '***' },
  })
  await change(update('RPC_URL', 'three'))
  expect(await t.as(org.admin).secrets.list({ params: { code: org.code } })).toEqual({
    secrets: { KEY: '***', RPC_URL: '***' },
  })
  expect(await readSecrets(t.app, org.id)).toEqual({ KEY: 'two', RPC_URL: 'three' })
})

test('no table, including the audit log, contains a value in plain text', async () => {
  const secretValue = 'correct-horse-battery-staple'
  await change(update('PASSPHRASE', secretValue))
  const tables = await t.app.database.pool.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  )
  for (const { name } of tables.rows) {
    const rows = await t.app.database.pool.query(`select * from "${name}"`)
    expect(JSON.stringify(rows.rows), name).not.toContain(secretValue)
  }
})

test('a sealed value cannot be decrypted in another row', async () => {
  const other = await t.make.org()
  await change(update('MOVED', 'mine'))
  await t.app.database.pool.query(
    "insert into secrets (org_id, name, sealed_value, updated_at) select $1, 'MOVED', sealed_value, now() from secrets where org_id = $2 and name = 'MOVED'",
    [other.id, org.id],
  )
  await expect(readSecrets(t.app, other.id)).rejects.toThrow()
})

test('deleting an unknown secret fails, and reverts the other changes of the request', async () => {
  const before = await readSecrets(t.app, org.id)
  await expect(change(update('NEW', 'x'), remove('NO_SUCH'))).rejects.toMatchObject({
    status: 400,
    message: 'There is no secret "NO_SUCH".',
  })
  expect(await readSecrets(t.app, org.id)).toEqual(before)
  await change(update('SHORT_LIVED', 'x'))
  await change(remove('short_lived'))
  expect(await readSecrets(t.app, org.id)).toEqual(before)
})

test.each([
  ['1ABC', 'x'],
  ['A-B', 'x'],
  ['', 'x'],
  ['A'.repeat(64), 'x'],
  ['OK', ''],
  ['OK', 'a\0b'],
  ['OK', 'x'.repeat(65_537)],
])('secret %j is rejected', async (name, value) => {
  await expect(change(update(name, value))).rejects.toMatchObject({ status: 400 })
})

test('developers and viewers see names but cannot change secrets', async () => {
  for (const type of ['developer', 'viewer'] as const) {
    const member = t.as(await t.make.member(org, type))
    expect((await member.secrets.list({ params: { code: org.code } })).secrets).toHaveProperty('KEY', '***')
    await expect(
      member.secrets.change({ params: { code: org.code }, body: { secrets: [update('KEY', 'theirs')] } }),
    ).rejects.toMatchObject({ status: 405 })
  }
})

test('a change is rejected if it makes the secrets of an organization larger than 256 kB in total', async () => {
  const many = Array.from({ length: 4 }, (_, i) => update(`BIG_${i}`, 'x'.repeat(60_000)))
  await change(...many)
  await expect(change(update('BIG_4', 'x'.repeat(60_000)))).rejects.toMatchObject({
    status: 405,
    message: expect.stringMatching(/256 kB in total.*would have 301 kB/),
  })
  await change(...many.map(({ name }) => remove(name)))
})
