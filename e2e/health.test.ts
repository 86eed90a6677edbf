import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProcess, type ServerProcess } from './support/server-process.ts'
import { endPostgresOf, freePort, makeDataDir, postmasterOf } from './support/shoal.ts'
import { until } from './support/until.ts'

type Ready = { status: string; checks: Record<string, string>; facts: Record<string, unknown> }

const token = 'a-token-of-the-operator'
const dataDir = makeDataDir()
const started: ServerProcess[] = []

async function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startProcess({ SHOAL_DATA_DIR: dataDir, SHOAL_METRICS_TOKEN: token, ...env })
  started.push(server)
  await server.ready()
  return server
}

afterAll(async () => {
  for (const server of started) server.signal('SIGKILL')
  await Promise.all(started.map(({ ended }) => ended))
  if (postmasterOf(dataDir)) process.kill(postmasterOf(dataDir), 'SIGCONT')
  await endPostgresOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

const ready = async (url: string) => (await (await fetch(`${url}/readyz`)).json()) as Ready

describe('one server with all roles', () => {
  let server: ServerProcess
  let healthUrl: string
  beforeAll(async () => {
    const port = String(await freePort())
    healthUrl = `http://127.0.0.1:${port}`
    server = await start({ SHOAL_HEALTH_PORT: port })
  })

  test('serves GET and HEAD of its page and health endpoints on each port', async () => {
    for (const url of [server.url, server.gatewayUrl, healthUrl]) {
      for (const path of ['/', '/healthz', '/readyz']) {
        const [get, head] = await Promise.all([fetch(url + path), fetch(url + path, { method: 'HEAD' })])
        expect([url + path, get.status, head.status]).toEqual([url + path, 200, 200])
        expect((await get.text()).length).toBeGreaterThan(0)
        expect(await head.text()).toBe('')
      }
      const { checks, facts } = await ready(url)
      expect(checks).toEqual({ database: 'ok', worker: 'ok', gateway: 'ok', disk: 'ok' })
      expect(facts).toMatchObject({ worker: 'active', lastBackupSecondsAgo: null, diskFreePercent: expect.any(Number) })
    }
  })

  test('serves its metrics on each port, only with the token', async () => {
    for (const url of [server.url, server.gatewayUrl, healthUrl]) {
      const authorization = `Bearer ${token}`
      const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text()
      expect(metrics).toMatch(/^shoal_worker_active 1$/m)
      expect(metrics).toMatch(/^process_resident_memory_bytes \d+$/m)
      const anonymous = await fetch(`${url}/metrics`)
      expect(anonymous.status).toBe(404)
      expect(await anonymous.text()).not.toContain('shoal_')
    }
  })

  test('reports a frozen database within two seconds, and does not start another one', async () => {
    const postgres = postmasterOf(dataDir)
    process.kill(postgres, 'SIGSTOP')
    try {
      await until(async () => (await ready(server.url)).checks['database'] !== 'ok', 'it is noticed', 10_000)
      for (const url of [server.url, server.gatewayUrl, healthUrl]) {
        const startedMs = performance.now()
        const response = await fetch(`${url}/readyz`)
        expect(response.status).toBe(503)
        expect(await response.json()).toMatchObject({ checks: { database: 'does not answer', disk: 'ok' } })
        expect(performance.now() - startedMs).toBeLessThan(2_500)
      }
    } finally {
      process.kill(postgres, 'SIGCONT')
    }
    await until(async () => (await ready(server.url)).status === 'ok', 'it is ready again')
    expect(postmasterOf(dataDir)).toBe(postgres)
    expect(server.output()).not.toContain('has ended by itself')
  })

  test('restarts its database when it is killed, and exits when it is killed repeatedly', async () => {
    const killed = postmasterOf(dataDir)
    process.kill(killed, 'SIGKILL')
    await until(() => server.output().includes('The embedded Postgres runs again.'), 'it is started again')
    expect(server.output()).toMatch(/has ended by itself; it is started again\. The end of its log/)
    expect(postmasterOf(dataDir)).not.toBe(killed)
    await until(async () => (await ready(server.url)).status === 'ok', 'it is ready again')

    const again = () => server.output().split('The embedded Postgres runs again.').length - 1
    for (let runs = again(); runs < 3; runs++) {
      process.kill(postmasterOf(dataDir), 'SIGKILL')
      await Promise.race([server.ended, until(() => again() > runs, 'it is started again')])
      if (server.output().includes('3 times within a minute')) break
    }
    expect(await server.ended).toBe(1)
    expect(server.output()).toContain('The embedded Postgres ended or did not start 3 times within a minute')
  })
})

test('a process with only the worker role serves health and metrics on a loopback port, and prints it', async () => {
  const worker = await start({ SHOAL_ROLES: 'worker' })
  const [, url = ''] = /Health +(http:\/\/127\.0\.0\.1:\d+)\/readyz/.exec(worker.output()) ?? []
  expect((await ready(url)).checks).toEqual({ database: 'ok', worker: 'ok', disk: 'ok' })
  expect((await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
  const standby = await start({ SHOAL_ROLES: 'worker' })
  const [, standbyUrl = ''] = /Health +(http:\/\/127\.0\.0\.1:\d+)\/readyz/.exec(standby.output()) ?? []
  expect((await ready(standbyUrl)).facts).toMatchObject({ worker: 'standby' })
  worker.signal('SIGSTOP')
  await until(
    async () => (await ready(standbyUrl)).checks['worker']?.includes('has not responded for'),
    'the standby is not ready',
    15_000,
  )
  worker.signal('SIGCONT')
  await until(async () => (await ready(standbyUrl)).status === 'ok', 'it is ready again')
})
