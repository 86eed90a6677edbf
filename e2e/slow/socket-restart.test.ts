import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startGatewayLoad } from '../support/gateway-load.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { makeDataDir, stopPostgresOf } from '../support/shoal.ts'
import { withSockets } from '../support/socket-manager.ts'
import { until } from '../support/until.ts'

const dataDir = makeDataDir()
let ports: number[] = []
let service: ServerProcess

beforeAll(async () => {
  ports = [await freePort(), await freePort(), await freePort()]
  const [port, gatewayPort] = ports
  const settings = {
    SHOAL_DATA_DIR: dataDir,
    SHOAL_ON_EXIT: 'keep',
    SHOAL_RUNTIME: 'process',
    SHOAL_PORT: String(port),
    SHOAL_GATEWAY_PORT: String(gatewayPort),
  }
  service = await startProcess(settings, undefined, withSockets(ports))
  await service.ready()
})

afterAll(async () => {
  await service?.stop()
  await stopPostgresOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

const childrenOf = (pid: number) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)

const serverPid = () => childrenOf(service.pid)[0] ?? 0

/** Returns what `read` returns, or `otherwise` if the process has ended or has closed the file. */
function unlessGone<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return otherwise
    throw error
  }
}

/** Returns the inodes of the sockets of a process. */
const socketsOf = (pid: number) =>
  unlessGone(() => readdirSync(`/proc/${pid}/fd`), [])
    .map((fd) => unlessGone(() => readlinkSync(`/proc/${pid}/fd/${fd}`, 'utf8'), ''))
    .filter((link) => link.startsWith('socket:'))

const countStarts = () => service.output().split('Shoal is ready').length - 1

test('no request fails while a server with sockets of systemd restarts under load', async () => {
  const load = startGatewayLoad(service.gatewayUrl, 16)
  let failures: [result: string, count: number][] = []
  try {
    for (let restart = 1; restart <= 2; restart++) {
      const target = load.total() + 500
      await until(() => load.total() >= target, 'requests are served', 60_000)
      const [pid, starts] = [serverPid(), countStarts()]
      process.kill(pid, 'SIGTERM')
      await until(() => countStarts() > starts, 'the next server is ready', 120_000)
      expect(serverPid()).not.toBe(pid)
    }
    const target = load.total() + 500
    await until(() => load.total() >= target, 'requests are served', 60_000)
  } finally {
    failures = await load.stop()
  }
  expect(failures).toEqual([])
}, 300_000)

test('a connection that is opened while the server is killed and started again gets a response', async () => {
  const [pid, starts] = [serverPid(), countStarts()]
  process.kill(pid, 'SIGKILL')
  await until(() => serverPid() !== pid, 'the server has ended', 60_000)
  const response = await fetch(`${service.url}/api/openapi.json`)
  expect(response.status).toBe(200)
  await until(() => countStarts() > starts, 'the next server is ready', 120_000)
}, 180_000)

test('processes of the server do not inherit its ports', () => {
  const inherited = new Set(socketsOf(service.pid))
  expect(socketsOf(serverPid()).filter((socket) => inherited.has(socket)).length).toBeGreaterThanOrEqual(ports.length)
  const postgres = execFileSync('pgrep', ['-f', `${dataDir}/`])
    .toString()
    .trim()
    .split('\n')
    .map(Number)
  const others = postgres.filter((pid) => pid !== serverPid() && pid !== service.pid)
  expect(others.length).toBeGreaterThan(0)
  for (const pid of others) expect(socketsOf(pid).filter((socket) => inherited.has(socket))).toEqual([])
})

test('a socket at an address that no setting names is reported', () => {
  expect(service.output()).toContain('listens on addresses that no setting of Shoal names')
})
