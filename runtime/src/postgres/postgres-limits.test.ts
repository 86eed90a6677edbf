import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { createConnection } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.ts'
import { watchMemory } from './memory-watch.ts'
import { truncateLog } from './watched-postgres.ts'
import { clusterMemoryReader, cpuCgroupsOf, removeUnusedCgroups } from './cluster-cgroup.ts'
import { databaseOfTitle, shareCpuAmongDatabases } from './database-cgroups.ts'
import { findProcess } from '../process/processes.ts'
import { postmasterOf } from './postgres-program.ts'

const mebibyte = 2 ** 20
const limits = { memoryBytes: 1024 * mebibyte, processBytes: 768 * mebibyte, cpuShares: 512 }

let dir: string
let postgres: EmbeddedPostgres
let otherClient: Client
const clients: Client[] = []

async function connect(url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-limits-'))
  chmodSync(dir, 0o755)
  postgres = await startEmbeddedPostgres({ dir, limits, isForTenants: true })
  otherClient = await connect(postgres.url('postgres'))
  await otherClient.query(`create role heavy login password 'x'`)
})
afterAll(async () => {
  await Promise.allSettled(clients.map((client) => client.end()))
  await postgres?.stop()
  rmSync(dir, { recursive: true, force: true })
})

/** Sorts `rows` rows of about 1 KB in memory, and sleeps before freeing them. Resolves with the SQL error code; null on success. */
async function sortInMemory(rows: number, sleepSeconds = 0): Promise<string | null> {
  const client = await connect(`postgres://heavy:x@127.0.0.1:${postgres.port}/postgres`)
  await client.query(`set work_mem = '2GB'`)
  const rowsSql = `select repeat(md5(g::text), 30) as text from generate_series(1, ${rows}) g order by 1`
  return await client.query(`select count(*) from (${rowsSql}) sorted, pg_sleep(${sleepSeconds})`).then(
    () => null,
    (error: unknown) => (error as { code: string }).code,
  )
}

/** Checks that the kernel killed no process of Postgres, which would then have ended all connections. */
const expectNoKill = async () => {
  expect((await otherClient.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  expect(readFileSync(join(dir, 'data/postgres.log'), 'utf8')).not.toMatch(/terminated by signal/)
}

const outOfMemory = '53200'
const adminShutdown = '57P01'

test.skipIf(process.platform !== 'linux')(
  'a statement that exceeds the memory limit fails with an SQL error',
  async () => {
    expect(await sortInMemory(3_000_000)).toBe(outOfMemory)
    await expectNoKill()
  },
)

test('when connections together exceed the memory limit, the largest is ended and the others continue', async (context) => {
  context.skip(clusterMemoryReader(dir) === null, 'cgroups cannot be created here')
  const messages: string[] = []
  const stopWatching = watchMemory({ dir, limits, log: (message) => messages.push(message) })
  try {
    const codes = await Promise.all([1, 2, 3].map(() => sortInMemory(450_000, 3)))
    expect(codes).toContain(adminShutdown)
    expect(messages[0]).toContain('role heavy')
    await expectNoKill()
  } finally {
    await stopWatching()
  }
})

test('connections that never authenticate hold their slots for seconds only', async () => {
  const startup = Buffer.from('\0\0\0\0\0\x03\0\0user\0heavy\0database\0postgres\0\0', 'latin1')
  startup.writeInt32BE(startup.length)
  const sockets = Array.from({ length: 50 }, () => createConnection(postgres.port, '127.0.0.1'))
  try {
    let asked = 0
    let closed = 0
    for (const socket of sockets) {
      socket.on('error', () => {}).on('close', () => closed++)
      socket.once('data', () => asked++).write(startup)
    }
    // Postgres has asked each for a password.
    await expect.poll(() => asked, { timeout: 60_000 }).toBe(sockets.length)
    // The default of Postgres is a minute.
    await expect.poll(() => closed, { timeout: 45_000 }).toBe(sockets.length)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})

const cpuSecondsOf = (pid: number) => findProcess(pid)?.cpuSeconds ?? 0

test('databases share the CPU time of the cluster equally, however many connections each has', async (context) => {
  const cgroups = cpuCgroupsOf(dir)
  context.skip(cgroups === null, 'cgroups cannot be created here')
  const shares = ['cpu.shares', 'cpu.weight'].map((file) => join(cgroups?.main ?? '', '..', file)).find(existsSync)
  // The base has half of the weight of other programs: 512 of 1024 in cgroup v1, 50 of 100 in v2.
  expect(['512', '50']).toContain(readFileSync(shares ?? '', 'utf8').trim())
  const [manyName, singleName] = ['sq_00000000_1', 'sq_00000000_2']
  for (const name of [manyName, singleName]) await otherClient.query(`create database ${name}`)
  const open = async (database: string) => {
    const client = await connect(`postgres://heavy:x@127.0.0.1:${postgres.port}/${database}`)
    await client.query('set max_parallel_workers_per_gather = 0')
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return { client, pid: rows[0]?.pid ?? 0 }
  }
  const messages: string[] = []
  const stopSharing = shareCpuAmongDatabases({ dir, log: (message) => messages.push(message) })
  try {
    // More connections than CPUs, so that they compete.
    const many = await Promise.all(Array.from({ length: 4 * availableParallelism() }, () => open(manyName)))
    const single = await Promise.all(Array.from({ length: availableParallelism() }, () => open(singleName)))
    const pids = [...many, ...single].map(({ pid }) => pid)
    await expect
      .poll(() => pids.map(cpuCgroupOf))
      .toEqual([...many.map(() => `database-${manyName}`), ...single.map(() => `database-${singleName}`)])
    const statements = [...many, ...single].map(({ client }) =>
      client.query('select count(*) from generate_series(1, 1000000000)').catch(() => undefined),
    )
    const total = (connections: { pid: number }[]) => connections.reduce((sum, { pid }) => sum + cpuSecondsOf(pid), 0)
    // Without the cgroups, the four times as many connections get four times the CPU time. The scheduler needs some seconds to balance
    // the cgroups over the CPUs.
    const ratio = () => (total(single) > 2 ? total(many) / total(single) : Infinity)
    await expect.poll(ratio, { timeout: 120_000 }).toBeLessThan(2)
    await otherClient.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname in ('${manyName}', '${singleName}')`,
    )
    await Promise.all(statements)
  } finally {
    await stopSharing()
  }
  expect(messages).toEqual([])
})

test.each([
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 127.0.0.1(40000) idle', 'sq_0a1b2c3d_7'],
  ['postgres: sq_0a1b2c3d_7_ro sq_0a1b2c3d_7 127.0.0.1(40000) idle in transaction (aborted)', 'sq_0a1b2c3d_7'],
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 127.0.0.1(40000) CREATE TABLE AS waiting', 'sq_0a1b2c3d_7'],
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 ::1(40000) SELECT\0\0\0', 'sq_0a1b2c3d_7'],
  // The client may never authenticate.
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 127.0.0.1(40000) authentication', null],
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 127.0.0.1(40000) startup', null],
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 127.0.0.1(40000) initializing', null],
  ['postgres: sq_0a1b2c3d_7 sq_0a1b2c3d_7 127.0.0.1(40000)', null],
  // The role or the database that the client requests contains the title of another connection.
  ['postgres: a sq_0a1b2c3d_7 127.0.0.1(1) idle b 127.0.0.1(40000) authentication', null],
  ['postgres: a sq_0a1b2c3d_7 127.0.0.1(1) idle b 127.0.0.1(40000)', null],
  // Other databases.
  ['postgres: anyone filler 127.0.0.1(40000) idle', null],
  ['postgres: shoal sq_0a1b2c3d_7 127.0.0.1(40000) idle', null],
])('the database of a process with the title %j is %j', (title, database) => {
  expect(databaseOfTitle(title)).toBe(database)
})

/** Returns the name of the cgroup that limits the CPU time of a process. */
function cpuCgroupOf(pid: number): string {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n')
  const line =
    lines.find((text) => /^\d+:[\w,]*\bcpu\b[\w,]*:/.test(text)) ?? lines.find((text) => text.startsWith('0::'))
  return basename(line ?? '')
}

/** Returns the cgroup of a process: in the memory hierarchy of cgroup v1, or in the unified hierarchy of v2. */
function cgroupOf(pid: number): string | null {
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n')
  const path = (lines.find((line) => /:memory:/.test(line)) ?? lines.find((line) => line.startsWith('0::')))?.split(
    ':',
  )[2]
  const roots = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']
  return (
    roots.map((root) => join(root, path ?? '')).find((folder) => path?.includes('shoal-db-') && existsSync(folder)) ??
    null
  )
}

test('the cgroup of a cluster is removed when the cluster stops, or later if the cluster was killed and its directory deleted', async (context) => {
  context.skip(clusterMemoryReader(dir) === null, 'cgroups cannot be created here')
  const start = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-limits-'))
    chmodSync(folder, 0o755)
    const cluster = await startEmbeddedPostgres({ dir: folder, limits })
    const pid = postmasterOf(join(folder, 'data')) ?? 0
    return { folder, cluster, pid, cgroup: cgroupOf(pid) ?? '' }
  }
  const stopped = await start()
  const killed = await start()
  expect([existsSync(stopped.cgroup), existsSync(killed.cgroup)]).toEqual([true, true])
  await stopped.cluster.stop()
  expect(existsSync(stopped.cgroup)).toBe(false)
  expect(existsSync(join(stopped.cgroup, '..'))).toBe(false)

  process.kill(killed.pid, 'SIGQUIT')
  await expect.poll(() => existsSync(`/proc/${killed.pid}`)).toBe(false)
  for (const { folder } of [stopped, killed]) rmSync(folder, { recursive: true, force: true })
  const inUse = cgroupOf(postmasterOf(join(dir, 'data')) ?? 0) ?? ''
  const old = new Date(Date.now() - 120_000)
  for (const cgroup of [killed.cgroup, inUse]) utimesSync(join(cgroup, '..'), old, old)
  removeUnusedCgroups(dir)
  expect([existsSync(killed.cgroup), existsSync(join(killed.cgroup, '..')), existsSync(inUse)]).toEqual([
    false,
    false,
    true,
  ])
})

test('tenants cannot fill the disk with the log of Postgres', async () => {
  const dataDir = join(dir, 'data')
  const log = join(dataDir, 'postgres.log')
  const client = await connect(`postgres://heavy:x@127.0.0.1:${postgres.port}/postgres`)
  const sizeBefore = readFileSync(log).length
  await client.query(`do $$ begin for i in 1..100 loop raise warning '%', repeat('x', 10000); end loop; end $$`)
  await expect(client.query(`select '${'x'.repeat(100_000)}'::int`)).rejects.toThrow('invalid input')
  expect(readFileSync(log).length - sizeBefore).toBeLessThan(10_000)

  const size = readFileSync(log).length
  truncateLog(dataDir, size + 1)
  expect(readFileSync(log).length).toBe(size)
  truncateLog(dataDir, size - 1)
  expect(readFileSync(log).length).toBe(0)
  // Postgres continues to write from the beginning of the file.
  await otherClient.query('select pg_reload_conf()')
  await expect.poll(() => readFileSync(log, 'utf8')).toMatch(/^[^\0]+reloading configuration/)
})
