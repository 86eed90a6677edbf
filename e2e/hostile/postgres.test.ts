import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasNamespaces } from '@shoal/runtime/network-harness'
import { waitForDeployment } from '../support/deploy.ts'
import { connectTo, postmasterOf, type Cluster } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySqlSquid, type SignIn, type SqlSquid } from '../support/sql-squid.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

let shoal: Shoal
let neighbour: SqlSquid
let hostile: SqlSquid[]
const [first, second] = [() => hostile[0] as SqlSquid, () => hostile[1] as SqlSquid]

type Ping = { pid: number; rows: number; connections: number }
const ping = async (squid = neighbour): Promise<Ping> => {
  const response = await fetch(squid.url)
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return (await response.json()) as Ping
}

/** The test fails if a request takes longer than this during the attack. */
const maxResponseMs = 30_000

/** The id of the Postgres process that serves the first connection of the neighbour. */
let neighbourPid: number
let postmaster: number

beforeAll(async () => {
  shoal = await startShoal()
  const config = '{ statement_timeout: 2s, idle_in_transaction_session_timeout: 2s }'
  ;[neighbour, ...hostile] = await Promise.all([
    deploySqlSquid(shoal, 'neighbours'),
    deploySqlSquid(shoal, 'hostiles', config),
    deploySqlSquid(shoal, 'hostiles-too', config),
  ])
  neighbourPid = (await ping()).pid
  postmaster = postmasterOf(shoal.dataDir, 'postgres-squids')
})

afterAll(async () => {
  await shoal?.end()
})

/** Checks that the neighbour still uses its first connection, Postgres was not restarted, and the server is ready and has logged no unexpected error. */
async function expectUnharmed(): Promise<void> {
  expect(await ping()).toEqual({ pid: neighbourPid, rows: 100, connections: 1 })
  expect(postmasterOf(shoal.dataDir, 'postgres-squids')).toBe(postmaster)
  expect(readFileSync(join(shoal.dataDir, 'postgres-squids/data/postgres.log'), 'utf8')).not.toMatch(
    /terminated by signal|all server processes terminated/,
  )
  // On a busy machine, a single check may take too long.
  await until(async () => (await fetch(`${shoal.url}/readyz`)).status === 200, 'the server is ready')
  expect(shoal.output()).not.toMatch(/uncaught|unhandled/i)
}

const sessionsOf = async (squid: SqlSquid) => {
  const { rows } = await squid.run(
    `select count(*)::int as count from pg_stat_activity where usename = current_user and pid <> pg_backend_pid()`,
  )
  return Number(rows?.[0]?.['count'])
}
/** Returns Shoal's messages in the version's log. */
const noticesOf = async (squid: SqlSquid) => {
  const params = { code: squid.org, reference: squid.reference }
  const { logs } = await squid.api.logs.history({ params, query: { container: ['db'] } })
  return logs.map(({ payload }) => (typeof payload === 'string' ? payload : String(payload['msg'])))
}

test('a squid has no rights outside its database', async () => {
  const { rows } = await first().run(
    `select (select pid from pg_stat_activity where usename = 'shoal' limit 1) as shoal,
       (select datname from pg_database where datname like 'sq%' and datname <> current_database() limit 1) as other`,
  )
  const [{ shoal: pidOfShoal, other } = {}] = rows ?? []
  expect([typeof pidOfShoal, typeof other]).toEqual(['number', 'string'])
  const attempts = [
    ...['plperl', 'plperlu', 'plpython3u', 'pltcl', 'dblink', 'postgres_fdw', 'file_fdw', 'pg_stat_statements'].map(
      (name) => `create extension ${name}`,
    ),
    `copy (select 1) to program 'id'`,
    `copy (select 1) to '/tmp/file'`,
    `create table files (line text); copy files from '/etc/passwd'`,
    `create table more_files (line text); copy more_files from program 'id'`,
    `select pg_read_file('postgresql.conf')`,
    `select pg_ls_dir('.')`,
    `select lo_import('/etc/passwd')`,
    `create table objects as select lo_from_bytea(0, 'x') as id; select lo_export(id, '/tmp/file') from objects`,
    `select pg_terminate_backend(${neighbourPid})`,
    `select pg_cancel_backend(${neighbourPid})`,
    `select pg_terminate_backend(${String(pidOfShoal)})`,
    'create role other',
    'create database other',
    'alter role current_user superuser',
    'alter role current_user bypassrls',
    'alter role current_user replication',
    'alter role current_user connection limit -1',
    'alter role current_user set temp_file_limit = -1',
    'alter role current_user set session_preload_libraries = x',
    `alter role "${String(other)}" set work_mem = '1GB'`,
    `alter role "${String(other)}" password 'x'`,
    `alter role shoal password 'x'`,
    `grant "${String(other)}" to current_user`,
    'grant pg_read_server_files to current_user',
    'set role shoal',
    `set role "${String(other)}"`,
    'set session authorization shoal',
    'set temp_file_limit = -1',
    'set log_min_duration_statement = 0',
    `drop database "${String(other)}"`,
    `alter database "${String(other)}" set work_mem = '1GB'`,
    `alter system set shared_buffers = '1GB'`,
    'select pg_reload_conf()',
    `select pg_create_physical_replication_slot('x', true)`,
    `create publication p for all tables`,
    `create subscription s connection 'host=127.0.0.1' publication p`,
    `create function hook() returns event_trigger language plpgsql as $$ begin end $$; create event trigger hook on ddl_command_start execute function hook()`,
    `create function native() returns int language c as 'libc.so.6', 'getpid'`,
    `create tablespace elsewhere location '/tmp'`,
    `load 'auto_explain'`,
    `truncate pg_class`,
    `begin; insert into pings values (1); prepare transaction 'held'`,
    `select * from pg_authid`,
  ]
  const results: [attempt: string, error: string][] = []
  for (const attempt of attempts) results.push([attempt, (await first().run(attempt)).error ?? 'completed'])
  // Insufficient privilege, feature not supported, extension not available, feature disabled, invalid value, role may not be granted, and
  // undefined object.
  const refusals = new Set(['42501', '0A000', '58P01', '55000', '22023', '0LP01', '42704'])
  expect(results.filter(([, error]) => !refusals.has(error))).toEqual([])
  await expectUnharmed()
})

const readFileOf = (cluster: Cluster, name: string) => readFileSync(join(shoal.dataDir, cluster, name), 'utf8').trim()

/** Tries to sign in from the test, with the same results as the squid's `signIn`. */
async function signInHere(options: SignIn): Promise<string> {
  const client = new Client(options).on('error', () => undefined)
  try {
    await client.connect()
    return 'signed in'
  } catch (error) {
    const { code, message } = error as Error & { code?: string }
    return code ?? message
  } finally {
    await client.end().catch(() => undefined)
  }
}

const clusters: Cluster[] = ['postgres', 'postgres-squids']

test.each(clusters)(
  'the superuser of the cluster %s cannot sign in without a password or with a wrong one',
  async (cluster) => {
    const port = Number(readFileOf(cluster, 'port'))
    const otherCluster = clusters.find((name) => name !== cluster) as Cluster
    const passwords = [undefined, '', 'shoal', 'postgres', readFileOf(otherCluster, 'password')]
    const folders = ['/tmp', '/var/run/postgresql', shoal.dataDir, join(shoal.dataDir, cluster, 'data')]
    const attempts = ['127.0.0.1', '::1', ...folders].flatMap((host) =>
      ['postgres', 'template1'].flatMap((database) =>
        passwords.map((password): SignIn => ({
          host,
          port,
          database,
          user: 'shoal',
          ...(password === undefined ? {} : { password }),
        })),
      ),
    )
    // The password is wrong (28P01), or the client has none although Postgres requests one.
    const isRefused = (result: string) => result === '28P01' || /client password must be a/.test(result)
    // Nothing listens at the address, the network or the file system does not allow it, or the squid has no IPv6.
    const isUnreachable = (result: string) =>
      /^(ECONNREFUSED|ENOENT|EACCES|EPERM|ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/.test(result)
    for (const [origin, signIn] of [
      ['test', signInHere],
      ['squid', first().signIn],
    ] as const) {
      const results = await Promise.all(
        attempts.map(async (attempt) => ({ ...attempt, result: await signIn(attempt) })),
      )
      // Each program reaches the cluster of squids, and the programs of the host also reach the other one.
      const isReachable = ({ host }: SignIn) =>
        host === '127.0.0.1' && (origin === 'test' || cluster === 'postgres-squids')
      expect(results.filter((attempt) => isReachable(attempt) && !isRefused(attempt.result))).toEqual([])
      expect(results.filter(({ result }) => !isRefused(result) && !isUnreachable(result))).toEqual([])
    }
    // Neither cluster has a Unix socket, and if it had one, it would request a password there too.
    const superuser = await connectTo(shoal.dataDir, 'postgres', cluster)
    try {
      const { rows: rules } = await superuser.query<{ type: string; method: string; error: string | null }>(
        'select type, auth_method as method, error from pg_hba_file_rules',
      )
      expect(new Set(rules.map(({ type }) => type))).toEqual(new Set(['local', 'host']))
      expect(rules.filter(({ method, error }) => method !== 'scram-sha-256' || error !== null)).toEqual([])
      expect((await superuser.query('show unix_socket_directories')).rows).toEqual([{ unix_socket_directories: '' }])
    } finally {
      await superuser.end()
    }
    expect(readFileSync('/proc/net/unix', 'utf8')).not.toContain(`.s.PGSQL.${port}`)
    await expectUnharmed()
  },
)

test('a squid that opens all its connections does not reduce those of other squids', async () => {
  for (const squid of hostile) {
    const { held, error } = await squid.hold(1_000)
    expect(error).toBe('53300')
    expect(held).toBeLessThan(100)
  }
  // The API lists the neighbour's versions, and the server is ready, while the connections are held.
  expect(await neighbour.api.squids.list({ params: { code: neighbour.org } })).toHaveLength(1)
  await expectUnharmed()
  expect((await neighbour.run('select 1 as one')).rows).toEqual([{ one: 1 }])
  expect(await neighbour.hold(10)).toEqual({ held: 10, error: null })
  await Promise.all([neighbour, ...hostile].map((squid) => squid.release()))
  await expectUnharmed()
})

test('squids that open many connections without authenticating leave connections for others', async ({ skip }) => {
  if (!hasNamespaces) skip('needs network namespaces')
  const knocked = await Promise.all(hostile.map((squid) => squid.knock(600)))
  // Postgres closes them after ten seconds; the others need not wait for that.
  expect((await neighbour.run('select 1 as one')).rows).toEqual([{ one: 1 }])
  for (const { opened } of knocked) expect(opened).toBeLessThan(150)
  await Promise.all(hostile.map((squid) => squid.release()))
  await expectUnharmed()
})

test('parallel sorts with a huge work_mem end with an SQL error, not with a crash of Postgres', async () => {
  const sort = `set statement_timeout = 0; set work_mem = '2GB'; set hash_mem_multiplier = 1000;
    select count(*) from (select repeat(md5(g::text), 30) as text from generate_series(1, 5000000) g order by 1) sorted`
  await Promise.all(hostile.map((squid) => squid.attack([{ sql: sort, connections: 8 }])))
  await Promise.all(hostile.map((squid) => squid.stop()))
  await until(
    async () => (await Promise.all(hostile.map(sessionsOf))).every((count) => count <= 1),
    'all sorts have ended',
  )
  // The sorts ran out of memory, or Shoal ended them because together they needed too much memory or took too long.
  for (const codes of await Promise.all(hostile.map((squid) => squid.stop())))
    expect(Object.keys(codes).filter((code) => !['completed', '53200', '57014', '57P01'].includes(code))).toEqual([])
  await expectUnharmed()
})

test('Shoal ends endless statements and idle transactions of sessions that remove their limits, and the log says why', async () => {
  const endless = [
    'set statement_timeout = 0; select pg_sleep(3600)',
    `set statement_timeout = 0; do $$ begin loop begin perform pg_sleep(3600); exception when query_canceled then null; end; end loop; end $$`,
    'set statement_timeout = 0; with recursive r as (select 1 as n union all select n + 1 from r) select count(*) from r',
  ]
  await first().attack(endless.map((sql) => ({ sql, connections: 2 })))
  await first().stop()
  await second().hold(3, 'set idle_in_transaction_session_timeout = 0; begin; select 1')
  await until(
    async () => (await Promise.all(hostile.map(sessionsOf))).every((count) => count <= 1),
    'all sessions have ended',
  )
  const hasNotice = async (text: string) => (await noticesOf(first())).some((notice) => notice.includes(text))
  for (const text of ['longer than 2 s (statement_timeout of the manifest)', 'continued after it was canceled'])
    await until(() => hasNotice(text), `the log of the first version contains “${text}”`)
  const notices = (await noticesOf(first())).join('\n')
  expect(notices).not.toContain('pg_sleep')
  await second().release()
  await expectUnharmed()
})

test('a squid cannot fill the disk with temporary files or the log of Postgres', async () => {
  const sort = `select count(*) from (select repeat(md5(g::text), 300) as text from generate_series(1, 100000000) g order by 1) sorted`
  // The neighbour’s statements may run for a minute, so that the sort exceeds the limit for temporary files (53400) before the time limit.
  expect(await neighbour.run(`set work_mem = '64kB'; ${sort}`)).toMatchObject({ error: '53400' })
  const log = join(shoal.dataDir, 'postgres-squids/data/postgres.log')
  const before = readFileSync(log).length
  await first().run(
    `set client_min_messages = error; do $$ begin for i in 1..2000 loop raise warning '%', repeat('x', 100000); end loop; end $$`,
  )
  await first().run(`select '${'x'.repeat(100_000)}'::int`)
  expect(readFileSync(log).length - before).toBeLessThan(50_000)
  await expectUnharmed()
})

const tables = isFull ? 50_000 : 2_000

test(`locks, notifications and ${tables} tables of a squid do not affect the server or other squids`, async () => {
  const keys = ['shoal:connection-limits', 'shoal:export', 'shoal:migrate', 'observing', 'reconcile', 'log-ingest']
  const locks = keys.map((key) => `pg_advisory_lock(hashtextextended('${key}', 0))`).join(', ')
  await first().hold(1, `select ${locks}; listen shoal_squids; listen shoal_logs`)
  await second().attack([
    {
      sql: `select pg_notify('shoal_squids', n::text || repeat('x', 7000)) from generate_series(1, 500) n`,
      connections: 4,
    },
  ])
  for (let from = 0; from < tables; from += 1_000) {
    const { error, message } = await first().run(
      `set statement_timeout = 0; do $$ begin for i in ${from + 1}..${from + 1_000} loop execute 'create table bloat_' || i || ' (id int primary key, text text)'; end loop; end $$`,
    )
    expect(error, message).toBeUndefined()
  }
  // Shoal still exports the hostile squid's database, or refuses to with a reason, and restarts the neighbour.
  const params = { code: neighbour.org, reference: neighbour.reference }
  const exported = await fetch(
    `${shoal.url}/api/v1/orgs/${first().org}/squids/${encodeURIComponent(first().reference)}/database/export`,
    { headers: { authorization: `Bearer ${first().token}` } },
  )
  const exportedBytes = (await exported.arrayBuffer()).byteLength
  expect([200, 405]).toContain(exported.status)
  expect(exportedBytes).toBeGreaterThan(50)
  await expectUnharmed()
  const { id } = await neighbour.api.squids.restart({ params })
  expect(await waitForDeployment(neighbour, id)).toMatchObject({ failed: 'NO' })
  await second().stop()
  await first().release()
  neighbourPid = (await until(() => ping().catch(() => null), 'the neighbour responds')).pid
  const removal = await first().api.squids.delete({ params: { code: first().org, reference: first().reference } })
  expect(await waitForDeployment(first(), removal.id)).toMatchObject({ failed: 'NO' })
  hostile[0] = await deploySqlSquid(shoal, 'hostiles-again', '{ statement_timeout: 2s }')
  await expectUnharmed()
})

test('while two hostile versions attack at full speed, the neighbour loses no connection and no request, and the API stays responsive', async () => {
  const rounds = isFull ? 5 : 3
  const seconds = isFull ? 15 : 4
  const attack = [
    { sql: 'set statement_timeout = 0; select count(*) from generate_series(1, 100000000)', connections: 10 },
    {
      sql: `set work_mem = '2GB'; select count(*) from (select md5(g::text) from generate_series(1, 3000000) g order by 1) s`,
      connections: 5,
    },
    {
      sql: `create temp table if not exists junk (n int, text text); insert into junk select g, md5(g::text) from generate_series(1, 200000) g; truncate junk`,
      connections: 4,
    },
    { sql: `select pg_notify('x', repeat('y', 7000)) from generate_series(1, 1000)`, connections: 2 },
  ]
  const quiet = { squid: [] as number[], api: [] as number[] }
  const busy = { squid: [] as number[], api: [] as number[] }
  const errors: string[] = []
  for (let round = 0; round < rounds; round++) {
    await measure(quiet, seconds, errors)
    await Promise.all(hostile.map((squid) => squid.attack(attack)))
    await measure(busy, seconds, errors)
    await Promise.all(hostile.map((squid) => squid.stop()))
    await until(
      async () => (await Promise.all(hostile.map(sessionsOf))).every((count) => count <= 1),
      'the attackers have no sessions',
    )
  }
  const percentile = (share: number, times: number[]) =>
    times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Infinity
  const ratio = (share: number, kind: 'squid' | 'api') => percentile(share, busy[kind]) / percentile(share, quiet[kind])
  // All squids of a Postgres share its CPU limit, so the neighbour's queries take longer; those of the API do not.
  for (const kind of ['squid', 'api'] as const)
    console.log(
      `${kind}, busy relative to quiet: median ${ratio(0.5, kind).toFixed(2)}, p99 ${ratio(0.99, kind).toFixed(2)}`,
    )
  expect(errors).toEqual([])
  await expectUnharmed()
  for (const kind of ['squid', 'api'] as const) expect(Math.max(...busy[kind])).toBeLessThan(maxResponseMs)
  // Other load on the machine changes between the rounds, so the test compares the times only in a run without other load.
  if (isFull) expect(ratio(0.99, 'api')).toBeLessThan(1.5)
})

/** Sends requests at a fixed rate to the API, and to the neighbour's api, which queries the neighbour's database. Adds their durations in milliseconds to `times`. */
async function measure(times: { squid: number[]; api: number[] }, seconds: number, errors: string[]): Promise<void> {
  const pools = { squid: new Pool(shoal.gatewayUrl, { connections: 4 }), api: new Pool(shoal.url, { connections: 4 }) }
  const paths = {
    squid: new URL(neighbour.url).pathname,
    api: `/api/v1/orgs/${neighbour.org}/squids/${encodeURIComponent(neighbour.reference)}`,
  }
  const requests: Promise<void>[] = []
  const send = async (kind: 'squid' | 'api') => {
    const startedMs = performance.now()
    const headers = kind === 'api' ? { authorization: `Bearer ${neighbour.token}` } : {}
    try {
      const { statusCode, body } = await pools[kind].request({ path: paths[kind], method: 'GET', headers })
      const text = await body.text()
      if (statusCode !== 200) errors.push(`${kind}: ${statusCode} ${text.slice(0, 200)}`)
      times[kind].push(performance.now() - startedMs)
    } catch (error) {
      errors.push(`${kind}: ${String(error)}`)
    }
  }
  const endMs = performance.now() + seconds * 1000
  while (performance.now() < endMs) {
    requests.push(send('squid'), send('api'))
    await new Promise((done) => setTimeout(done, 20))
  }
  await Promise.all(requests)
  await Promise.all(Object.values(pools).map((pool) => pool.close()))
}
