import { type EmbeddedPostgres, startEmbeddedPostgres } from '@shoal/runtime'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addOrg, type Org } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySimulated } from '../support/simulated-squid.ts'
import { until } from '../support/until.ts'

const rowCount = 400_000
const dir = mkdtempSync(join(tmpdir(), 'shoal-servers-'))
const postgres: Record<string, EmbeddedPostgres> = {}
let shoal: Shoal
let org: Org

beforeAll(async () => {
  chmodSync(dir, 0o711)
  for (const name of ['main', 'second']) {
    const folder = join(dir, name)
    mkdirSync(folder, { mode: 0o711 })
    postgres[name] = await startEmbeddedPostgres({ dir: folder, settings: { fsync: 'off' } })
  }
  shoal = await startShoal({
    SHOAL_RUNTIME: 'sim',
    SHOAL_SQUIDS_DATABASE_URL: `${urlOf('main')}?shoal_weight=1000 ${urlOf('second')}?shoal_name=second`,
  })
  org = await addOrg(shoal, 'acme')
  const deployed = await deploySimulated({ shoal, ...org }, { name: 'transfers', slot: 'v1' })
  expect(deployed.failed).toBe('NO')
})
afterAll(async () => {
  await shoal?.end()
  for (const server of Object.values(postgres)) await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

const urlOf = (server: string, database = 'postgres') => postgres[server]?.url(database) ?? ''

async function query(server: string, text: string, database?: string): Promise<Record<string, unknown>[]> {
  const client = new Client(urlOf(server, database))
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** Returns the names of the databases of versions on the server. */
const databasesOn = async (server: string) =>
  (await query(server, `select datname as name from pg_database where datname ~ '^sq_'`)).map(({ name }) =>
    String(name),
  )

const move = (...args: string[]) =>
  shoal.cli<{ moved?: unknown[]; estimates?: unknown[] }>('squid-database', 'move', '--to', 'second', ...args)

test('the operator moves a database while the server is killed, and the command follows the move to its end', async () => {
  const [database = ''] = await databasesOn('main')
  const [role] = await query(
    'main',
    `select pg_get_userbyid(datdba) as name from pg_database where datname = '${database}'`,
  )
  await query(
    'main',
    `set role "${String(role?.['name'])}";
     create table transfers as select i as id, md5(i::text) as hash from generate_series(1, ${rowCount}) i;
     alter table transfers add primary key (id)`,
    database,
  )
  const sum = `select count(*)::int as n, sum(hashtext(hash))::text as sum from transfers`
  const before = await query('main', sum, database)
  const estimated = await move('--squid', 'acme/transfers@v1', '--estimate')
  expect(estimated.estimates).toMatchObject([{ version: 'acme/transfers@v1', isHibernated: false }])
  expect(await databasesOn('second')).toEqual([])

  const moved = move('--squid', 'acme/transfers@v1')
  // The test awaits the command below. Until then, a failure must not count as an unhandled rejection.
  moved.catch(() => undefined)
  await until(async () => (await databasesOn('second')).length === 1, 'the copy is being made')
  await shoal.kill()
  expect(await databasesOn('main')).toEqual([database])
  await shoal.start()
  expect((await moved).moved).toMatchObject([{ version: 'acme/transfers@v1', server: 'second' }])

  expect(await query('second', sum, database)).toEqual(before)
  expect(await databasesOn('main')).toEqual([])
  const [deployment] = await org.api.deployments.list({ params: { code: 'acme' }, query: {} })
  expect(deployment).toMatchObject({ type: 'RESTART', status: 'OK', failed: 'NO' })
  const log = await org.api.deployments.get({ params: { code: 'acme', id: String(deployment?.id) } })
  const lines = log.logs.map(({ message }) => message).join('\n')
  expect(lines).toContain('The worker stopped during this deployment. Another one resumes it.')
  expect(lines).toContain(`1 tables with ${rowCount} rows`)
})

test('all databases on a server are moved with one command, and a command that has nothing to do says so', async () => {
  await move('--from', 'main').then((result) => expect(result).toEqual({ moved: [] }))
  const { moved } = await shoal.cli<{ moved: unknown[] }>('squid-database', 'move', '--from', 'second', '--to', 'main')
  expect(moved).toHaveLength(1)
  expect(await databasesOn('second')).toEqual([])
  expect(await databasesOn('main')).toHaveLength(1)
  await expect(move('--squid', 'acme/none@v1')).rejects.toThrow('There is no version acme/none@v1')
  await expect(move()).rejects.toThrow('Name either --squid or --from')
})
