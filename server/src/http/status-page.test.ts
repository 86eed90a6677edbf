import { gunzipSync } from 'node:zlib'
import type { StatusPage } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { minutes } from '../clock.ts'
import { sql } from '../db/sql.ts'
import { publicPagesOf } from '../modules/statuspage/index.ts'
import { setTag, type SquidRow } from '../modules/versions/index.ts'
import { makeVersion } from '../modules/versions/testing/make-version.ts'
import { startTestApp, type TestApp, type TestOrg } from '../testing/index.ts'
import { until } from '../testing/until.ts'

/*
 * The attacks that the public page must withstand, each with its test:
 *
 * | attack | test |
 * |---|---|
 * | script in names or texts of incidents | texts are escaped, and the policy allows no script |
 * | find out which organizations exist or have a page that is off | every address without a page has the same response |
 * | take over the address of a renamed, deleted or other organization | an address stays reserved |
 * | poison caches with another host | `forged-host.test.ts`; queries and cookies change nothing |
 * | read ids, hosts, reasons or traffic | the page contains nothing private |
 * | see a suspended or deleted organization | its page is not found |
 * | flood one page or random addresses | the work is bounded |
 * | huge texts | the page stays small |
 * | lower the availability by disconnecting | `connections.test.ts` of the gateway |
 */

let t: TestApp
beforeAll(async () => {
  t = await startTestApp()
})
afterAll(() => t?.close())

type Page = {
  org: TestOrg
  squid: SquidRow
  get: (suffix?: string, headers?: Record<string, string>) => ReturnType<typeof get>
}

const get = (url: string, headers: Record<string, string> = {}) => t.http.inject({ url, headers })

/** Creates an organization with a squid and an enabled page. */
async function makePage(settings: Partial<StatusPage> = {}): Promise<Page> {
  const org = await t.make.org()
  const squid = await makeVersion(t.app, org, { name: 'swaps', slot: 'v1', apis: [{}] })
  await setTag(t.app.db, squid, 'prod', t.clock.now())
  const body = {
    isEnabled: true,
    title: 'Acme',
    slug: org.code,
    tags: [{ squid: 'swaps', tag: 'prod', name: 'Swaps API' }],
    alertKinds: [],
    ...settings,
  }
  await t.as(org.admin).statusPage.update({ params: { code: org.code }, body })
  return { org, squid, get: (suffix = '', headers = {}) => get(`/status/${body.slug}${suffix}`, headers) }
}

const addIncident = ({ org }: Page, title: string, text: string) =>
  t.as(org.admin).statusPage.createIncident({
    params: { code: org.code },
    body: { title, impact: 'DEGRADED', tags: [], state: 'INVESTIGATING', text },
  })

const attack = `<img src=x onerror=alert(1)>"'&]]></style><script>alert(1)</script>`

test('texts are escaped in all formats, and the policy allows no script', async () => {
  const page = await makePage({
    title: attack.slice(0, 60),
    tags: [{ squid: 'swaps', tag: 'prod', name: attack.slice(0, 60) }],
  })
  await addIncident(page, attack, `${attack}\n${attack}`)
  for (const suffix of ['', '/feed.xml']) {
    const { body, statusCode } = await page.get(suffix)
    expect(statusCode).toBe(200)
    expect(body).toContain('alert(1)')
    expect(body).not.toMatch(/<img|<script|onerror=alert\(1\)>/)
  }
  const json = await page.get('.json')
  expect(json.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(json.headers['x-content-type-options']).toBe('nosniff')
  const policy = String((await page.get()).headers['content-security-policy'])
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/script-src|unsafe/)
})

test.each([
  ['a name', { tags: [{ squid: 'swaps', tag: 'prod', name: 'Swaps\u202Egnp.exe' }] }],
  ['a title', { title: 'Acme\u2066' }],
  ['a title with a line break', { title: 'Acme\nOutage' }],
])('characters that reorder or break lines are rejected in %s', async (_, settings) => {
  await expect(makePage(settings)).rejects.toMatchObject({ status: 400 })
})

test('every address without a page has the same response: unknown, off, deleted, terminated, suspended', async () => {
  const off = await makePage({ isEnabled: false })
  const [deleted, terminated, suspended] = [await makePage(), await makePage(), await makePage()]
  await t.app.db.execute(sql`update orgs set deleted_at = now() where id = ${deleted.org.id}`)
  await t.app.db.execute(sql`update orgs set suspended_at = now() where id = ${suspended.org.id}`)
  await t.make.status(terminated.org, 'TERMINATED')
  publicPagesOf(t.app).evictAll()
  const unknown = await get('/status/unknown-address')
  expect(unknown.statusCode).toBe(404)
  const headersOf = ({ headers }: typeof unknown) => ({ ...headers, date: '' })
  for (const { get: load } of [off, deleted, terminated, suspended])
    for (const suffix of ['', '.json', '/feed.xml']) {
      const response = await load(suffix)
      expect([response.statusCode, response.body, headersOf(response)]).toEqual([404, unknown.body, headersOf(unknown)])
    }
  for (const path of ['/status/%00', '/status/..%2f..%2fetc', '/status/__proto__', `/status/${'a'.repeat(400)}`])
    expect((await get(path)).statusCode).toBe(404)
})

test('an address stays reserved for 90 days after a change, and codes of organizations and names of the operator cannot be taken', async () => {
  const page = await makePage()
  const other = await makePage()
  const { code } = page.org
  const rename = ({ org }: Page, slug: string) =>
    t.as(org.admin).statusPage.update({
      params: { code: org.code },
      body: { isEnabled: true, title: 'Acme', slug, tags: [], alertKinds: [] },
    })
  await expect(rename(other, code)).rejects.toMatchObject({ status: 400 })
  for (const reserved of ['admin', 'status', 'support', 'shoal'])
    await expect(rename(other, reserved)).rejects.toMatchObject({
      body: { invalidFields: [{ path: ['slug'], message: 'This address is taken' }] },
    })
  await rename(page, `${code}-first`)
  await rename(page, `${code}-second`)
  expect((await get(`/status/${code}-first`)).statusCode).toBe(404)
  await expect(rename(other, `${code}-first`)).rejects.toMatchObject({ status: 400 })
  await expect(rename(other, `${code}-second`)).rejects.toMatchObject({ status: 400 })
  // The organization itself may return to it.
  await rename(page, `${code}-first`)
  await rename(page, `${code}-second`)
  await t.app.db.execute(sql`update status_held_slugs set until = until - interval '90 days'`)
  await rename(other, `${code}-first`)
  expect((await get(`/status/${code}-first`)).statusCode).toBe(200)
})

test('queries, cookies and credentials do not change the response', async () => {
  const page = await makePage()
  const { body } = await page.get()
  const other = await page.get('?utm=1&x[]=2', { cookie: 'shoal=1', authorization: `Bearer ${page.org.admin.token}` })
  expect(other.body).toBe(body)
  expect(other.headers['set-cookie']).toBeUndefined()
  expect(other.headers['vary']).toBe('accept-encoding')
})

test('the page contains nothing private', async () => {
  const page = await makePage()
  await t.app.db.execute(sql`insert into api_states (squid_id, generation, container, is_available, since, reason)
    values (${page.squid.id}, 1, 'api', false, now(), 'connect ECONNREFUSED 10.0.0.7')`)
  await t.app.db.execute(sql`insert into status_days (tag_id, day, requests, failures)
    select id, current_date, 123457, 0 from status_tags where org_id = ${page.org.id}`)
  const incident = await addIncident(page, 'Down', 'We look into it.')
  publicPagesOf(t.app).evictAll()
  for (const suffix of ['', '.json', '/feed.xml']) {
    const { body } = await page.get(suffix)
    expect(body).not.toMatch(/ECONNREFUSED|10\.0\.0\.7|123457|123,457|"id":\s*\d|swaps@|:prod|generation/)
    expect(body).not.toContain(page.org.admin.email)
    expect(body).not.toContain(page.org.admin.fullName)
  }
  expect(incident.id).toMatch(/^[0-9a-f-]{36}$/)
})

test('responses are cacheable for less than a minute, and unchanged ones are 304', async () => {
  const page = await makePage()
  for (const suffix of ['', '.json', '/feed.xml']) {
    const first = await page.get(suffix)
    expect(first.headers['cache-control']).toBe('public, max-age=30')
    const etag = String(first.headers['etag'])
    for (const sent of [etag, etag.replace('W/', ''), `"x", ${etag}`]) {
      const again = await page.get(suffix, { 'if-none-match': sent })
      expect([again.statusCode, again.body]).toEqual([304, ''])
    }
    const zipped = await page.get(suffix, { 'accept-encoding': 'gzip;q=1.0, br;q=0' })
    expect(zipped.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(zipped.rawPayload).toString()).toBe(first.body)
  }
})

test('a flood causes bounded work: one rendering of a page, and none for unknown addresses', async () => {
  const page = await makePage()
  const pages = publicPagesOf(t.app)
  pages.evictAll()
  const before = pages.renderings
  await Promise.all(Array.from({ length: 200 }, () => page.get()))
  expect(pages.renderings - before).toBe(1)
  await Promise.all(Array.from({ length: 200 }, (_, i) => get(`/status/unknown-${i}`)))
  expect(pages.renderings - before).toBe(1)
})

test('a page that was rendered during a change is current after it', async () => {
  const page = await makePage()
  const locker = await t.app.database.pool.connect()
  // Triggers of this kind run at the commit. This one waits for the lock.
  await locker.query(`create function wait_at_commit() returns trigger language plpgsql as $$ begin
    perform pg_advisory_xact_lock(4711); return null; end $$;
    create constraint trigger wait_at_commit after insert on status_incidents deferrable initially deferred
    for each row execute function wait_at_commit()`)
  await locker.query('select pg_advisory_lock(4711)')
  const added = addIncident(page, 'Late blocks', 'We look into it.')
  const waitingLocks = `select from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`
  await until(async () => expect((await locker.query(waitingLocks)).rowCount).toBe(1))
  expect((await page.get()).body).not.toContain('Late blocks')
  await locker.query('select pg_advisory_unlock(4711)')
  await added
  await locker.query('drop function wait_at_commit cascade')
  locker.release()
  expect((await page.get()).body).toContain('Late blocks')
})

test('a page with 20 services stays below 15 KB, and so does a compressed page with outages and long incidents', async () => {
  const tags = Array.from({ length: 20 }, (_, i) => ({ squid: 'swaps', tag: `tag-${i}`, name: `Service number ${i}` }))
  const page = await makePage({ tags })
  const { body } = await page.get()
  expect(body.length).toBeLessThan(15_000)
  // Every second day has an outage, so that no two days can share a segment of the path in the chart.
  await t.app.db.execute(sql`insert into status_days (tag_id, day, requests, failures)
    select t.id, (${t.clock.now().toISOString()}::timestamptz - n * interval '1 day')::date, 100, (n % 2) * 50
    from status_tags t, generate_series(0, 90) n where t.org_id = ${page.org.id}`)
  for (let i = 0; i < 12; i++) await addIncident(page, `Incident ${i}`, 'Lorem ipsum dolor '.repeat(100))
  publicPagesOf(t.app).evictAll()
  const worst = await page.get('', { 'accept-encoding': 'gzip' })
  expect(worst.rawPayload.length).toBeLessThan(15_000)
  expect(gunzipSync(worst.rawPayload).toString()).toContain('more in the')
})

test('an administrator previews a page that is off, for an hour', async () => {
  const page = await makePage({ isEnabled: false })
  const { code } = page.org
  const previewOf = async (user = page.org.admin) => (await t.as(user).statusPage.get({ params: { code } })).previewUrl
  const { pathname } = new URL((await previewOf()) ?? '')
  const preview = await get(pathname)
  expect([preview.statusCode, preview.headers['cache-control']]).toEqual([200, 'no-store'])
  expect(preview.headers['content-security-policy']).toContain("default-src 'none'")
  expect(preview.body).toContain('Swaps API')
  expect(preview.body).toContain('This is a preview')
  expect(await previewOf(await t.make.member(page.org, 'developer'))).toBeNull()
  const { body: notFound } = await get('/status/unknown-address')
  const isNotFound = async (path: string) => {
    const response = await get(path)
    expect([response.statusCode, response.body]).toEqual([404, notFound])
  }
  for (const path of [`${pathname.slice(0, -4)}AAAA`, '/status-preview/x', `/status/${code}`]) await isNotFound(path)
  await t.app.db.execute(sql`update orgs set suspended_at = now() where id = ${page.org.id}`)
  await isNotFound(pathname)
  await t.app.db.execute(sql`update orgs set suspended_at = null where id = ${page.org.id}`)
  expect((await get(pathname)).statusCode).toBe(200)
  t.clock.advance(minutes(60))
  await isNotFound(pathname)
})

test('the address of a preview is not in the audit log, and there is none while the page is public', async () => {
  const page = await makePage({ isEnabled: false })
  const settings = { title: 'Acme', slug: page.org.code, tags: [], alertKinds: [] }
  const saved = await t.as(page.org.admin).statusPage.update({
    params: { code: page.org.code },
    body: { isEnabled: true, ...settings },
  })
  expect(saved.previewUrl).toBeNull()
  await t.as(page.org.admin).statusPage.update({
    params: { code: page.org.code },
    body: { isEnabled: false, ...settings },
  })
  const { rows } = await t.app.db.execute(sql`select * from audit_log where org_id = ${page.org.id}`)
  expect(rows.length).toBeGreaterThan(2)
  expect(JSON.stringify(rows)).not.toMatch(/preview/i)
})
