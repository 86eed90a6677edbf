import { rmSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNginx, type Nginx } from '../../scripts/nginx.ts'
import { startGatewayLoad } from '../support/gateway-load.ts'
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
  const load = startGatewayLoad(nginx?.url ?? '', clients)
  let gateway = servers[0]
  let failures: [result: string, count: number][] = []
  try {
    for (let restart = 1; restart <= restarts; restart++) {
      const target = load.total() + requestCount / (restarts + 1)
      await until(() => load.total() >= target, 'enough requests were sent', 600_000)
      expect(await gateway?.stop()).toBe(0)
      gateway = await startGateway(new URL(gateway?.gatewayUrl ?? '').port)
    }
    await until(() => load.total() >= requestCount, 'enough requests were sent', 600_000)
    console.log(`${load.total()} requests over ${restarts} restarts`)
  } finally {
    failures = await load.stop()
  }
  expect(failures, `nginx errors:\n${nginx?.errors().slice(-3000)}`).toEqual([])
}, 3_600_000)
