import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGateway, type Gateway } from '../gateway/gateway.ts'
import { recordWrite } from '../modules/logs/ingest/counts.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'

const token = 'a-token-of-the-operator'

let t: TestApp
let gateway: Gateway
beforeAll(async () => {
  // The metrics of the logs' own database exist only with this setting. Nothing listens on port 1.
  const env = { SHOAL_METRICS_TOKEN: token, SHOAL_LOGS_DATABASE_URL: 'postgres://logs:logs@127.0.0.1:1/logs' }
  t = await startTestApp({ env })
  gateway = await createGateway(t.app)
  // A worker adds the metrics of logs with the first lines that it writes.
  recordWrite(t.app, { storedLines: 0, dropped: [], dueReports: [] })
})
afterAll(async () => {
  await gateway?.close()
  await t?.close()
})

const readMetrics = (from: TestApp, headers: Record<string, string>) => from.http.inject({ url: '/metrics', headers })

test('the token gives access to the metrics, which do not name tenants', async () => {
  const org = await t.make.org({ code: 'very-secret' })
  await t.as(org.admin).squids.list({ params: { code: org.code } })
  const response = await readMetrics(t, { authorization: `Bearer ${token}` })
  expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(response.body).toContain(
    'shoal_http_request_seconds_count{method="GET",route="/api/v1/orgs/:code/squids",status="200"} 1',
  )
  expect(response.body).toMatch(/^shoal_database_connections\{state="idle"\} \d+$/m)
  expect(response.body).toMatch(/^shoal_installation_count\{of="organizations"\} \d+$/m)
  expect(response.body).toMatch(/^process_resident_memory_bytes \d+$/m)
  expect(response.body).toMatch(/^shoal_logs_database_up 0$/m)
  expect(response.body).not.toContain('very-secret')
})

test('the dashboard uses only metrics that exist', async () => {
  const { body } = await readMetrics(t, { authorization: `Bearer ${token}` })
  const dashboard = readFileSync(new URL('../../../docs/grafana/server.json', import.meta.url), 'utf8')
  const used = new Set(dashboard.match(/\b(shoal|process|nodejs)_[a-z0-9_]+\b/g))
  expect(used.size).toBeGreaterThan(5)
  const exists = (name: string) =>
    new RegExp(`^# TYPE ${name.replace(/_(bucket|count)$/, '(_count)?')} `, 'm').test(body)
  expect([...used].filter((name) => !exists(name))).toEqual([])
})

test('the dashboard shows each metric of Shoal', async () => {
  const { body } = await readMetrics(t, { authorization: `Bearer ${token}` })
  const dashboard = readFileSync(new URL('../../../docs/grafana/server.json', import.meta.url), 'utf8')
  const names = [...body.matchAll(/^# TYPE (shoal_\w+) /gm)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !new RegExp(`\\b${name}(_bucket|_count)?\\b`).test(dashboard))).toEqual([])
})

test('requests without the token are rejected, even from this machine', async () => {
  const org = await t.make.org()
  const wrongHeaders = ['', 'Bearer wrong', `Bearer ${org.admin.token}`, token]
  expect((await readMetrics(t, {})).statusCode).toBe(404)
  for (const authorization of wrongHeaders) expect((await readMetrics(t, { authorization })).statusCode).toBe(404)
})

test('the metrics are not served without SHOAL_METRICS_TOKEN', async () => {
  await using stack = new AsyncDisposableStack()
  const appWithoutToken = await startTestApp()
  stack.defer(appWithoutToken.close)
  const response = await readMetrics(appWithoutToken, { authorization: 'Bearer ' })
  expect(response.body).not.toContain('process_')
})
