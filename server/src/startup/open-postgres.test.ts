import { startEmbeddedPostgres } from '@shoal/runtime'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig, type Config } from '../config/config.ts'
import { connect, ensureDatabase } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { readiness } from '../health/readiness.ts'
import { InstallationInUse, type InstallationLock } from '../installation/installation-lock.ts'
import { readOverview } from '../modules/operators/index.ts'
import { readStatistics } from '../modules/operators/statements-store.ts'
import { openApp, type ServerProcess } from './open-app.ts'
import { openPostgres } from './open-postgres.ts'

let folder: string
let config: Config
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-clusters-'))
  chmodSync(folder, 0o755)
  config = loadConfig({ SHOAL_DATA_DIR: folder, SHOAL_RUNTIME: 'sim', SHOAL_LOG_LEVEL: 'silent' })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Creates an installation as earlier versions of Shoal did: with one cluster, which also contains the database of a squid. */
async function makeOldInstallation() {
  const postgres = await startEmbeddedPostgres({ dir: join(folder, 'postgres') })
  await ensureDatabase(postgres.url('postgres'), 'shoal')
  const database = connect(postgres.url('shoal'), { max: 1 })
  await migrate(database.pool)
  await database.pool.query(`insert into installation (prefix) values ('sq_old')`)
  await database.pool.query(`create role sq_old_1 login password 'x'`)
  await database.pool.query(`create database sq_old_1 owner sq_old_1`)
  await database.close()
  return postgres
}

const isRunning = (cluster: string) => existsSync(join(folder, cluster, 'data/postmaster.pid'))
const databases = `select datname as name from pg_database where not datistemplate order by 1`

test('operators see the slow statements from the statistics of Postgres, without values', async () => {
  const { app, close } = await openApp(config)
  try {
    await app.database.pool.query("select pg_sleep(0.3), 'a value'")
    await app.database.pool.query("create role r password 'a value'")
    const statistics = await readStatistics(app.db, 20)
    expect(statistics?.list).toContainEqual({
      text: 'select pg_sleep($1), $2',
      calls: 1,
      meanMs: expect.closeTo(300, -3),
      maxMs: expect.closeTo(300, -3),
    })
    expect(JSON.stringify(statistics)).not.toContain('a value')
    const { statements } = await readOverview(app)
    expect(statements).toMatchObject({ source: 'POSTGRES', since: expect.any(Date) })
  } finally {
    await close('stop')
  }
})

test('a new installation has two clusters, which both stop with the server', async () => {
  const { app, close } = await openApp(config)
  try {
    expect((await app.database.pool.query(databases)).rows).toEqual([{ name: 'postgres' }, { name: 'shoal' }])
    expect((await app.databaseHosts.get('main').cluster.pool.query(databases)).rows).toEqual([{ name: 'postgres' }])
    const { rows } = await app.databaseHosts.get('main').cluster.pool.query('show max_connections')
    expect(rows).toEqual([{ max_connections: String(config.SHOAL_POSTGRES_CONNECTIONS) }])
  } finally {
    await close('stop')
  }
  expect([isRunning('postgres'), isRunning('postgres-squids')]).toEqual([false, false])
})

const server: ServerProcess = {
  installation: { release: () => {}, tryExclusive: async () => true },
  draining: new AbortController().signal,
  onFailure: () => {},
}

test.each([
  {
    cause: 'its configuration is invalid',
    isNew: false,
    breakIt: () => {
      const file = join(folder, 'postgres-squids/data/postgresql.conf')
      const valid = readFileSync(file, 'utf8')
      writeFileSync(file, 'port = = 1')
      return () => writeFileSync(file, valid)
    },
  },
  {
    cause: 'it cannot be created',
    isNew: true,
    breakIt: () => {
      writeFileSync(join(folder, 'postgres-squids'), 'not a directory')
      return () => rmSync(join(folder, 'postgres-squids'))
    },
  },
])(
  'if the Postgres of squids does not start because $cause, the server starts, and then starts it at the same address',
  async ({ isNew, breakIt }) => {
    if (!isNew) await (await openApp(config)).close('stop')
    const repair = breakIt()
    // A command works, too.
    const command = await openApp(config)
    await command.close('stop')
    const { app, close } = await openApp(config, server)
    try {
      const { cluster } = app.databaseHosts.get('main')
      expect((await app.database.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      await expect(cluster.pool.query('select 1')).rejects.toThrow('The database is unavailable')
      expect(await readiness(app)).toMatchObject({ isReady: true, facts: { squidsPostgres: 'does not respond' } })
      repair()
      await expect
        .poll(() => cluster.pool.query('select 1 as one').catch(() => null))
        .toMatchObject({ rows: [{ one: 1 }] })
      await expect.poll(async () => (await readiness(app)).facts['squidsPostgres']).toBe('ok')
    } finally {
      await close('stop')
    }
    expect([isRunning('postgres'), isRunning('postgres-squids')]).toEqual([false, false])
  },
)

test('if the Postgres of the control plane does not start, the error is one sentence with the reason', async () => {
  await (await openApp(config)).close('stop')
  writeFileSync(join(folder, 'postgres/data/postgresql.conf'), 'port = = 1')
  await expect(openApp(config, server)).rejects.toThrow(
    /^The embedded Postgres in \S+\/postgres did not start: configuration file \S+ contains errors \(\S+postgres\.log\)$/,
  )
  expect([isRunning('postgres'), isRunning('postgres-squids')]).toEqual([false, false])
})

test.each([
  { cluster: 'postgres', isFatal: true },
  { cluster: 'postgres-squids', isFatal: false },
])('if the disk of $cluster is not mounted, no empty cluster is created there', async ({ cluster, isFatal }) => {
  await (await openApp(config)).close('stop')
  const [mounted, aside] = [join(folder, cluster), join(folder, 'aside')]
  renameSync(mounted, aside)
  mkdirSync(mounted)
  // Without this file, the installation looks like one of an earlier version, with all databases in one cluster.
  rmSync(join(folder, 'postgres/squids-are-separate'), { force: true })
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const opening = openPostgres(config, folder, log)
  if (isFatal) await expect(opening).rejects.toThrow(/its files are missing, although it was created earlier/)
  else {
    await (await opening).close('stop')
    expect(warnings.join('')).toContain('its files are missing, although it was created earlier')
  }
  expect(existsSync(join(mounted, 'data'))).toBe(false)
  rmSync(mounted, { recursive: true })
  renameSync(aside, mounted)
  const { app, close } = await openApp(config)
  try {
    expect((await app.databaseHosts.get('main').cluster.pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  } finally {
    await close('stop')
  }
})

test('tenants cannot create extensions that run Perl, Python or Tcl', async () => {
  const { app, close } = await openApp(config)
  try {
    const { rows } = await app.databaseHosts
      .get('main')
      .cluster.pool.query<{ name: string }>('select name from pg_available_extensions')
    const names = rows.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['pg_trgm', 'hstore', 'pgcrypto', 'plpgsql']))
    expect(names.filter((name) => /perl|python|tcl|dblink|fdw/.test(name))).toEqual([])
    await app.databaseHosts.get('main').cluster.pool.query('create extension pg_trgm')
    await expect(app.databaseHosts.get('main').cluster.pool.query('create extension plperl')).rejects.toThrow(
      'is not available',
    )
  } finally {
    await close('stop')
  }
})

test('the first start of an older installation moves the databases of its squids, even if its Postgres is still running', async () => {
  const oldPostgres = await makeOldInstallation()
  const { app, close } = await openApp(config)
  try {
    expect((await app.database.pool.query(databases)).rows).toEqual([{ name: 'postgres' }, { name: 'shoal' }])
    expect((await app.databaseHosts.get('main').cluster.pool.query(databases)).rows).toEqual([
      { name: 'postgres' },
      { name: 'sq_old_1' },
    ])
    const client = new Client(`postgres://sq_old_1:x@127.0.0.1:${oldPostgres.port}/sq_old_1`)
    await client.connect()
    await client.end()
  } finally {
    await close('stop')
  }
})

test('the databases are not moved while a server of the older version runs', async () => {
  const oldPostgres = await makeOldInstallation()
  const server = new Client(oldPostgres.url('shoal'))
  await server.connect()
  try {
    await expect(openApp(config)).rejects.toThrow(InstallationInUse)
    await expect(openApp(config)).rejects.toThrow('Stop all processes')
    expect((await server.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  } finally {
    await server.end()
    await oldPostgres.stop()
  }
})

test('a server warns when squids share the Postgres of the control plane', async () => {
  const messages: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void messages.push(line) })
  const serverProcess = {
    installation: {} as InstallationLock,
    draining: new AbortController().signal,
    onFailure: () => {},
  }
  const warningsOf = async (env: Record<string, string>, server: ServerProcess | null = serverProcess) => {
    messages.length = 0
    await openPostgres(loadConfig({ SHOAL_DATA_DIR: folder, ...env }), folder, log, server ?? undefined)
    return messages
  }
  const url = 'postgres://shoal@127.0.0.1:5432/shoal'
  const expectedWarnings = [expect.stringContaining('SHOAL_SQUIDS_DATABASE_URL')]
  expect(await warningsOf({ DATABASE_URL: url })).toEqual(expectedWarnings)
  const sameServer = { DATABASE_URL: url, SHOAL_SQUIDS_DATABASE_URL: 'postgres://squids@127.0.0.1/postgres' }
  expect(await warningsOf(sameServer)).toEqual(expectedWarnings)
  const otherServer = { DATABASE_URL: url, SHOAL_SQUIDS_DATABASE_URL: 'postgres://squids@127.0.0.1:5433/postgres' }
  expect(await warningsOf(otherServer)).toEqual([])
  expect(await warningsOf({ DATABASE_URL: url, SHOAL_ROLES: 'gateway' })).toEqual([])
  expect(await warningsOf({ DATABASE_URL: url }, null)).toEqual([])
})
