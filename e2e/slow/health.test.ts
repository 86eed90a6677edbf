import { rmSync } from 'node:fs'
import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { freePort } from '../support/free-port.ts'
import { connectTo, findPostmaster, postmasterOf } from '../support/postgres.ts'
import { stopPostgresOf, makeDataDir } from '../support/shoal.ts'
import { until } from '../support/until.ts'
import { promisedLimitMs } from '../support/tier.ts'

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
  const postgres = findPostmaster(dataDir)
  if (postgres !== null) process.kill(postgres, 'SIGCONT')
  await stopPostgresOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

const readReadiness = async (url: string) => (await (await fetch(`${url}/readyz`)).json()) as Ready

describe('one server with all roles', () => {
  let server: ServerProcess
  let healthUrl: string
  beforeAll(async () => {
    const port = String(await freePort())
    healthUrl = `http://127.0.0.1:${port}`
    server = await start({ SHOAL_HEALTH_PORT: port })
  })

  test('responds to GET and HEAD of /, /healthz and /readyz on each port', async () => {
    for (const url of [server.url, server.gatewayUrl, healthUrl]) {
      for (const path of ['/', '/healthz', '/readyz']) {
        const [get, head] = await Promise.all([fetch(url + path), fetch(url + path, { method: 'HEAD' })])
        expect([url + path, get.status, head.status]).toEqual([url + path, 200, 200])
        expect((await get.text()).length).toBeGreaterThan(0)
        expect(await head.text()).toBe('')
      }
      const { checks, facts } = await readReadiness(url)
      expect(checks).toEqual({ database: 'ok', worker: 'ok', gateway: 'ok', disk: 'ok' })
      expect(facts).toMatchObject({ worker: 'active', lastBackupSecondsAgo: null, diskFreePercent: expect.any(Number) })
    }
  })

  test('serves its metrics on each port, only with the token', async () => {
    for (const url of [server.url, server.gatewayUrl, healthUrl]) {
      const authorization = `Bearer ${token}`
      const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text()
      expect(metrics).toMatch(/^shoal_worker_active 1$/m)
      for (const loop of ['deployments', 'gateway heartbeat', 'gateway routes'])
        expect(metrics).toMatch(new RegExp(`^shoal_loop_last_end_seconds\\{loop="${loop}"\\} \\d+`, 'm'))
      expect(metrics).toMatch(/^process_resident_memory_bytes \d+$/m)
      const anonymous = await fetch(`${url}/metrics`)
      expect(anonymous.status).toBe(404)
      expect(await anonymous.text()).not.toContain('shoal_')
    }
  })

  test('reports within two and a half seconds that Postgres accepts no connections, and does not start another Postgres', async () => {
    const postgres = postmasterOf(dataDir)
    process.kill(postgres, 'SIGSTOP')
    try {
      await until(
        async () => (await readReadiness(server.url)).checks['database'] !== 'ok',
        'the server notices the frozen database',
      )
      for (const url of [server.url, server.gatewayUrl, healthUrl]) {
        const startedMs = performance.now()
        const response = await fetch(`${url}/readyz`)
        expect(response.status).toBe(503)
        expect(await response.json()).toMatchObject({ checks: { database: 'does not respond', disk: 'ok' } })
        expect(performance.now() - startedMs).toBeLessThan(promisedLimitMs(2_500))
      }
    } finally {
      process.kill(postgres, 'SIGCONT')
    }
    await until(async () => (await readReadiness(server.url)).status === 'ok', 'the server is ready again')
    expect(postmasterOf(dataDir)).toBe(postgres)
    expect(server.output()).not.toContain('stopped unexpectedly')
  })

  test('is not ready while other clients use all connections of its database, and is ready again afterwards', async () => {
    const postgres = postmasterOf(dataDir)
    const held: Client[] = []
    /** Opens connections until Postgres refuses one. Signs in as the superuser, as the server does, so that no reserved connection is left for the server. */
    const useAllConnections = async () => {
      for (;;) {
        const client = await connectTo(dataDir, 'shoal').catch((error: unknown) => error as { code?: string })
        if (!('query' in client)) return client.code
        held.push(client.on('error', () => undefined))
      }
    }
    try {
      const ports = [server.url, server.gatewayUrl, healthUrl]
      await until(async () => {
        // Repeated, because the server frees a connection when it closes an idle one, and could use it for its next check.
        expect(await useAllConnections()).toBe('53300')
        const responses = await Promise.all(ports.map((url) => fetch(`${url}/readyz`)))
        const bodies = (await Promise.all(responses.map((response) => response.json()))) as Ready[]
        return (
          responses.every(({ status }) => status === 503) &&
          bodies.every(({ checks }) => checks['database'] === 'does not respond')
        )
      }, 'each port reports that the database does not respond')
      for (const url of ports) expect((await fetch(`${url}/healthz`)).status).toBe(200)
    } finally {
      await Promise.all(held.map((client) => client.end()))
    }
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200, 'the server is ready again')
    expect(await readReadiness(server.url)).toMatchObject({ status: 'ok', checks: { database: 'ok' } })
    expect(postmasterOf(dataDir)).toBe(postgres)
    expect(server.output()).not.toContain('stopped unexpectedly')
  })

  test('restarts its database when the database is killed, and exits when that happens repeatedly', async () => {
    const killedPid = postmasterOf(dataDir)
    process.kill(killedPid, 'SIGKILL')
    const restartCount = () => server.output().match(/The embedded Postgres in \S+ was restarted\./g)?.length ?? 0
    await until(() => restartCount() > 0, 'the server restarts Postgres')
    expect(server.output()).toMatch(/stopped unexpectedly and is being restarted\. The end of its log/)
    expect(postmasterOf(dataDir)).not.toBe(killedPid)
    await until(async () => (await readReadiness(server.url)).status === 'ok', 'the server is ready again')

    // On a busy machine, the restarts may take so long that the third failure is not within a minute of the first.
    while (!server.output().includes('3 times within a minute')) {
      const restarts = restartCount()
      process.kill(postmasterOf(dataDir), 'SIGKILL')
      await Promise.race([server.ended, until(() => restartCount() > restarts, 'the server restarts Postgres')])
    }
    expect(await server.ended).toBe(1)
    expect(server.output()).toMatch(/The embedded Postgres in \S+ ended or did not start 3 times within a minute/)
  })
})

describe('processes with only the worker role', () => {
  let worker: ServerProcess
  const healthUrlOf = (server: ServerProcess) =>
    /Health +(http:\/\/127\.0\.0\.1:\d+)\/readyz/.exec(server.output())?.[1] ?? ''

  test('serve health and metrics on a loopback port, which they print', async () => {
    worker = await start({ SHOAL_ROLES: 'worker' })
    const url = healthUrlOf(worker)
    expect((await readReadiness(url)).checks).toEqual({ database: 'ok', worker: 'ok', disk: 'ok' })
    expect((await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200)
  })

  test('as a standby, are not ready while the active worker does not respond', async () => {
    const standbyUrl = healthUrlOf(await start({ SHOAL_ROLES: 'worker' }))
    expect((await readReadiness(standbyUrl)).facts).toMatchObject({ worker: 'standby' })
    worker.signal('SIGSTOP')
    await until(
      async () => (await readReadiness(standbyUrl)).checks['worker']?.includes('has not responded for'),
      'the standby is not ready',
    )
    worker.signal('SIGCONT')
    await until(async () => (await readReadiness(standbyUrl)).status === 'ok', 'the standby is ready again')
  })
})
