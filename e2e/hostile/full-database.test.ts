import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectTo } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySqlSquid, type SqlSquid } from '../support/sql-squid.ts'
import { until } from '../support/until.ts'

let shoal: Shoal
let squid: SqlSquid
beforeAll(async () => {
  shoal = await startShoal()
  squid = await deploySqlSquid(shoal, 'fillers')
})
afterAll(async () => {
  await shoal?.end()
})

const megabyte = 'insert into filler select repeat(md5(n::text), 32) from generate_series(1, 1000) n'

/** Statements that write, and statements with which the squid changes its own session or role so that it could write. */
const attacks = [
  megabyte,
  `set default_transaction_read_only = off; ${megabyte}`,
  `begin read write; ${megabyte}; commit`,
  `alter role current_user set default_transaction_read_only = off`,
  `alter role current_user reset all; ${megabyte}`,
  `alter role current_user set temp_file_limit = -1`,
  'create table more as select 1 as n',
  'create temporary table more as select 1 as n',
  `select lo_from_bytea(0, 'x')`,
]
/** An attack that succeeds but has no effect: it changes a setting of the squid's role, and the squid still cannot write. */
const ineffectiveAttack = attacks[3]

async function setSpace(bytes: string): Promise<void> {
  const database = await connectTo(shoal.dataDir, 'shoal')
  await database.query(`update squid_databases set total_bytes = ${bytes}`)
  await database.end()
}
/**
 * Returns the error code of a statement; undefined if it succeeds. The code may be that of the connection, because Shoal closes
 * connections when it changes the squid's rights.
 */
const errorOf = async (sql: string): Promise<string | undefined> =>
  squid.run(sql).then(
    ({ error }) => error,
    (error: unknown) => /"error":"(\w+)"/.exec(String(error))?.[1] ?? String(error),
  )
const refused = /^(42501|25006)$/
const sizeOf = async () =>
  Number((await squid.run('select pg_database_size(current_database()) as size')).rows?.[0]?.['size'])

test('a squid whose database is full cannot write to it, regardless of what it sets, until it has space again', async () => {
  // While there is space, all attacks succeed, which shows that the squid can attack in this way. The exception is the attack on
  // temp_file_limit, which a role may never change.
  for (const attack of [
    'create table filler (text text)',
    ...attacks.filter((sql) => !sql.includes('temp_file_limit')),
  ])
    expect([attack, await errorOf(attack)]).toEqual([attack, undefined])
  await squid.run('drop table more')

  await setSpace('1')
  await until(async () => refused.test((await errorOf(megabyte)) ?? ''), 'the squid can no longer write')
  const size = await sizeOf()
  // From the second round on, connections have the settings that the attacks saved in the role.
  for (let round = 0; round < 3; round++)
    for (const attack of attacks) {
      const error = await errorOf(attack)
      if (attack !== ineffectiveAttack) expect([attack, error]).toEqual([attack, expect.stringMatching(refused)])
    }
  expect((await sizeOf()) - size).toBeLessThan(200_000)
  const { alerts } = await squid.api.squids.get({ params: { code: squid.org, reference: squid.reference } })
  expect(alerts).toContainEqual(
    expect.objectContaining({ severity: 'CRITICAL', reason: expect.stringContaining('read-only') }),
  )

  // It may read and delete. With space again, it may write again.
  expect(await errorOf('delete from filler')).toBeUndefined()
  await setSpace('1e12')
  await until(async () => (await errorOf(megabyte)) === undefined, 'the squid can write again')
})
