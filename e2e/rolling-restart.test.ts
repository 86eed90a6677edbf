import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findNginx } from '../scripts/debian-packages.ts'
import { startProcess, type ServerProcess } from './support/server-process.ts'
import { endPostgresOf, freePort, makeDataDir } from './support/shoal.ts'
import { until } from './support/until.ts'

/** The whole proof: ROLLING_REQUESTS=100000 ROLLING_RESTARTS=20 npm test -- e2e/rolling-restart.test.ts */
const wantedRequests = Number(process.env['ROLLING_REQUESTS'] ?? 10_000)
const restarts = Number(process.env['ROLLING_RESTARTS'] ?? 4)
const clients = 16

const dataDir = makeDataDir()
const folder = mkdtempSync(join(tmpdir(), 'shoal-nginx-'))
const shared = { SHOAL_DATA_DIR: dataDir, SHOAL_ON_EXIT: 'keep', SHOAL_RUNTIME: 'process' }
const servers: ServerProcess[] = []
let nginx: ChildProcess | undefined
let address: string

async function startGateway(port: string): Promise<ServerProcess> {
  const gateway = await startProcess({ ...shared, SHOAL_ROLES: 'gateway', SHOAL_GATEWAY_PORT: port })
  servers.push(gateway)
  await gateway.ready()
  return gateway
}

/** It asks another gateway only when nothing was sent to the first: a POST is never repeated. */
const configuration = (port: number, gateways: string[]) => `
daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log warn; worker_processes 1;
events { worker_connections 512; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  upstream gateways { ${gateways.map((g) => `server 127.0.0.1:${g} max_fails=1 fail_timeout=1s;`).join(' ')} keepalive 32; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://gateways; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_next_upstream error timeout; proxy_connect_timeout 5s;
    }
  }
}
`

beforeAll(async () => {
  chmodSync(folder, 0o755)
  const ports = [String(await freePort()), String(await freePort())]
  await startGateway(ports[0] ?? '')
  await startGateway(ports[1] ?? '')
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), configuration(port, ports))
  const program = findNginx()
  if (!program) throw new Error('This test needs nginx: apt-get install nginx')
  nginx = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' })
  address = `http://127.0.0.1:${port}`
  await until(
    () =>
      fetch(`${address}/healthz`).then(
        (a) => a.ok,
        () => false,
      ),
    'nginx answers',
  )
}, 180_000)

afterAll(async () => {
  nginx?.kill('SIGTERM')
  for (const server of servers) server.signal('SIGKILL')
  await Promise.all(servers.map(({ ended }) => ended))
  await endPostgresOf(dataDir)
  for (const dir of [dataDir, folder]) rmSync(dir, { recursive: true, force: true })
})

test('a gateway behind two is restarted under load and no request fails', async () => {
  const pool = new Pool(address, { connections: clients })
  let isLoaded = true
  const answers = new Map<string, number>()
  const ask = async () => {
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
    while (isLoaded) {
      const answer = await ask().catch((error: Error) => `failed: ${error.message}`)
      answers.set(answer, (answers.get(answer) ?? 0) + 1)
    }
  }
  const total = () => [...answers.values()].reduce((sum, count) => sum + count, 0)
  const load = Promise.all(Array.from({ length: clients }, client))
  let first = servers[0]
  try {
    for (let restart = 1; restart <= restarts; restart++) {
      const enough = total() + wantedRequests / (restarts + 1)
      await until(() => total() >= enough, 'enough was asked', 600_000)
      expect(await first?.stop()).toBe(0)
      first = await startGateway(new URL(first?.gatewayUrl ?? '').port)
    }
    await until(() => total() >= wantedRequests, 'enough was asked', 600_000)
  } finally {
    isLoaded = false
    await load
    await pool.close()
  }
  console.log(`${total()} requests over ${restarts} restarts`)
  // That a port is closed is what a balancer is for.
  const log = readFileSync(join(folder, 'error.log'), 'utf8')
    .split('\n')
    .filter((line) => !/Connection refused|temporarily disabled/.test(line))
    .join('\n')
  const others = [...answers].filter(([answer]) => answer !== '404 SQUID_NOT_FOUND')
  expect(others, `nginx says:\n${log.slice(-3000)}`).toEqual([])
}, 3_600_000)
