import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { minutes } from '../clock.ts'
import { publicPagesOf } from '../modules/statuspage/index.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { startPostgresProxy, type PostgresProxy } from '../testing/postgres-proxy.ts'
import { until } from '../testing/until.ts'

let proxy: PostgresProxy
let t: TestApp
beforeAll(async () => {
  proxy = await startPostgresProxy(inject('postgresUrl'))
  t = await startTestApp({ via: proxy.via })
  const org = await t.make.org({ code: 'acme' })
  const page = { isEnabled: true, title: 'Acme', slug: 'acme', tags: [], alertKinds: [] }
  await t.as(org.admin).statusPage.update({ params: { code: 'acme' }, body: page })
})
afterAll(async () => {
  await t?.close()
  await proxy?.close()
})

const get = (path: string) => t.http.inject({ url: path })

test('while the database does not respond, visitors see the last copy for an hour, and then an error page', async () => {
  const before = await get('/status/acme')
  expect(before.body).not.toContain('cannot be updated')
  const json = (await get('/status/acme.json')).body
  await proxy.stop()
  t.clock.advance(minutes(1))
  const during = await get('/status/acme')
  expect([during.statusCode, during.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(during.body).toContain('This page cannot be updated at the moment')
  expect(during.body).toContain(/<footer><p>As of (<time.+?<\/time>)/.exec(before.body)?.[1])
  expect((await get('/status/acme.json')).body).toBe(json)
  // This process has no copy of these pages.
  for (const path of ['/status/other', '/status-preview/none']) {
    const unknown = await get(path)
    expect([unknown.statusCode, unknown.headers['retry-after'], unknown.headers['content-type']], path).toEqual(
      path === '/status/other' ? [503, '15', 'text/html; charset=utf-8'] : [404, undefined, 'text/html; charset=utf-8'],
    )
  }
  t.clock.advance(minutes(61))
  const later = await get('/status/acme')
  expect([later.statusCode, later.headers['retry-after'], later.headers['cache-control']]).toEqual([
    503,
    '15',
    'no-store',
  ])
  expect(later.body).toContain('The status cannot be read at the moment')
  await proxy.start()
  await until(async () => expect((await get('/status/acme')).body).not.toContain('cannot be'))
})

test('a copy of a page that was turned off is not shown', async () => {
  await until(async () => expect((await get('/status/acme')).statusCode).toBe(200))
  publicPagesOf(t.app).evictAll()
  await proxy.stop()
  expect((await get('/status/acme')).statusCode).toBe(503)
  await proxy.start()
})
