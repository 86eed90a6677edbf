import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import * as clusterCgroup from './cluster-cgroup.ts'
import { describeStopped, restartEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'
import * as postgresProgram from './postgres-program.ts'
import { postmasterOf, runningPort } from './postgres-program.ts'

vi.mock('./cluster-cgroup.ts', { spy: true })
vi.mock('./postgres-program.ts', { spy: true })

const settings = { fsync: 'off' }
const limits = { memoryBytes: 2 ** 30, processBytes: 768 * 2 ** 20, cpuShares: 512 }

let dir: string
let dataDir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-restart-'))
  dataDir = join(dir, 'data')
  chmodSync(dir, 0o755)
})
afterEach(async () => {
  vi.restoreAllMocks()
  const { postgres } = await describeStopped({ dir, settings })
  await postgres.stop()
  rmSync(dir, { recursive: true, force: true })
})

test('a cluster that another process created at another address is not used', async () => {
  const { address } = await describeStopped({ dir, settings })
  const other = await startEmbeddedPostgres({ dir, settings })
  const restart = () => restartEmbeddedPostgres({ dir, settings }, address)
  await expect(restart()).rejects.toThrow('Its port or password is not the one')
  expect(runningPort(dataDir)).toBe(other.port)
  await other.stop()
  await expect(restart()).rejects.toThrow('Its port or password is not the one')
  expect(runningPort(dataDir)).toBe(null)
  expect(readFileSync(join(dir, 'port'), 'utf8')).toBe(String(other.port))
  await restartEmbeddedPostgres({ dir, settings }, { port: other.port, password: other.password })
  expect(runningPort(dataDir)).toBe(other.port)
})

test('a new cluster does not start at another port while a program uses the described one', async () => {
  const { address, postgres } = await describeStopped({ dir, settings })
  const program = createServer()
  await new Promise<void>((done) => program.listen(address.port, '127.0.0.1', done))
  const restart = () => restartEmbeddedPostgres({ dir, settings }, address)
  try {
    for (const attempt of ['first', 'second']) {
      await expect(restart(), attempt).rejects.toThrow(`Another program uses its port, ${address.port}`)
      expect(runningPort(dataDir)).toBe(null)
    }
  } finally {
    await new Promise((done) => program.close(done))
  }
  await restart()
  expect(runningPort(dataDir)).toBe(postgres.port)
  expect(readFileSync(join(dir, 'port'), 'utf8')).toBe(String(address.port))
  // The next attempt, of another process that described the same cluster, agrees.
  expect((await describeStopped({ dir, settings })).address).toEqual(address)
  await restart()
})

const portRange = '/proc/sys/net/ipv4/ip_local_port_range'
test.skipIf(!existsSync(portRange) || Number.parseInt(readFileSync(portRange, 'utf8'), 10) < 30_000)(
  'the system does not assign the port of a new cluster to other programs before the cluster starts',
  async () => {
    const { address } = await describeStopped({ dir, settings })
    expect(address.port).toBeLessThan(Number.parseInt(readFileSync(portRange, 'utf8'), 10))
  },
)

test('a recorded port that cannot be read is not replaced', async () => {
  // A link to itself causes an error other than that of a missing file.
  symlinkSync('port', join(dir, 'port'))
  await expect(startEmbeddedPostgres({ dir, settings })).rejects.toThrow('ELOOP')
  expect(lstatSync(join(dir, 'port')).isSymbolicLink()).toBe(true)
  expect((await describeStopped({ dir, settings })).address.port).toBeGreaterThan(0)
})

test('a cluster that cannot be limited does not run', async () => {
  vi.mocked(clusterCgroup.moveToCgroup).mockImplementation(() => {
    throw new Error('no cgroup')
  })
  const start = startEmbeddedPostgres({ dir, settings, limits })
  await expect(start).rejects.toThrow(/did not start: no cgroup$/)
  expect(runningPort(dataDir)).toBe(null)
})

test('a cluster that another process started gets its limits', async () => {
  await startEmbeddedPostgres({ dir, settings })
  const move = vi.mocked(clusterCgroup.moveToCgroup).mockReturnValue(true)
  const postmaster = postmasterOf(dataDir)
  await restartEmbeddedPostgres({ dir, settings, limits })
  expect(move).toHaveBeenCalledExactlyOnceWith(dir, dataDir, limits)
  expect(postmasterOf(dataDir)).toBe(postmaster)
})

test.each([
  {
    output: [
      'The files belonging to this database system will be owned by user "postgres".',
      'initdb: error: could not write to file "pg_wal": No space left on device',
      'initdb: removing contents of data directory',
    ],
    reason: 'initdb: error: could not write to file "pg_wal": No space left on device',
  },
  { output: ['The files belong to "postgres".', 'The disk is full.', ''], reason: 'The disk is full.' },
])('if initdb fails, the reason is "$reason"', async ({ output, reason }) => {
  const binaries = join(dir, 'programs')
  mkdirSync(join(binaries, 'bin'), { recursive: true })
  const lines = output.map((line) => `echo '${line}'`).join('\n')
  writeFileSync(join(binaries, 'bin/initdb'), `#!/bin/sh\n${lines}\nexit 1\n`, { mode: 0o755 })
  vi.mocked(postgresProgram.accessibleBinaries).mockReturnValue(binaries)
  await expect(startEmbeddedPostgres({ dir, settings })).rejects.toThrow(
    `The embedded Postgres in ${dir} did not start: ${reason}`,
  )
})
