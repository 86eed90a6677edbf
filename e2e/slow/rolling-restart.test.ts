import { rmSync } from 'node:fs'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNginx, type Nginx } from '../../scripts/nginx.ts'
import { startProcess, type ServerProcess } from '../support/server-process.ts'
import { freePort } from '../support/free-port.ts'
import { stopPostgresOf, makeDataDir } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/** A longer run: ROLLING_REQUESTS=100000 ROLLING_RESTARTS=20 npm test -- e2e/slow/rolling-restart.test.ts */
const requestCount = Number(process.env['ROLLING_REQUESTS'] ?? 10_000)
const restarts = Number(process.env['ROLLING_RESTARTS'] ?? 4)
const clients = 16

const dataDir = makeDataDir()
const shared = { SHOAL_DATA_DIR: dataDir, SHOAL_ON_EXIT: 'keep', SHOAL_RUNTIME: 'process' }
const servers: ServerProcess[] = []
let nginx: Nginx | undefined

async function startGateway(port: string): Promise<ServerProcess> {
  const gateway = await startProcess({ ...shared, SHOAL_ROLES: 'gateway', SHOAL_GATEWAY_PORT: port })
  servers.push(gateway)
  await gateway.ready()
  return gateway
}

beforeAll(async () => {
  const ports = [String(await freePort()), String(await freePort())]
  await startGateway(ports[0] ?? '')
  await startGateway(ports[1] ?? '')
  nginx = await startNginx({ servers: ports.map((port) => `127.0.0.1:${port}`), keepAlive: 32 })
})

afterAll(async () => {
  await nginx?.stop()
  for (const server of servers) server.signal('SIGKILL')
  await Promise.all(servers.map(({ ended }) => ended))
  await stopPostgresOf(dataDir)
  rmSync(dataDir, { recursive: true, force: true })
})

test('no request fails while one of two gateways is restarted repeatedly under load', async () => {
  const pool = new Pool(nginx?.url ?? '', { connections: clients })
  let isSending = true
  const results = new Map<string, number>()
  const send = async () => {
    const { statusCode, body } = await pool.request({
      path: '/acme/none@v1/api/graphql',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{ height }"}',
    })
    const text = await body.text()
    const code = /"code":"(\w+)"/.exec(text)?.[1] ?? text.slice(0, 80)
    return `${statusCode} ${code}`
  }
  const client = async () => {
    while (isSending) {
      const result = await send().catch((error: Error) => `failed: ${error.message}`)
      results.set(result, (results.get(result) ?? 0) + 1)
    }
  }
  const total = () => [...results.values()].reduce((sum, count) => sum + count, 0)
  const load = Promise.all(Array.from({ length: clients }, client))
  let gateway = servers[0]
  try {
    for (let restart = 1; restart <= restarts; restart++) {
      const target = total() + requestCount / (restarts + 1)
      await until(() => total() >= target, 'enough requests were sent', 600_000)
      expect(await gateway?.stop()).toBe(0)
      gateway = await startGateway(new URL(gateway?.gatewayUrl ?? '').port)
    }
    await until(() => total() >= requestCount, 'enough requests were sent', 600_000)
  } finally {
    isSending = false
    await load
    await pool.close()
  }
  console.log(`${total()} requests over ${restarts} restarts`)
  const failures = [...results].filter(([result]) => result !== '404 SQUID_NOT_FOUND')
  expect(failures, `nginx errors:\n${nginx?.errors().slice(-3000)}`).toEqual([])
}, 3_600_000)
