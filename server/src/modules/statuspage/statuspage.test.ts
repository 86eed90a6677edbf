import { afterEach, beforeEach, expect, test } from 'vitest'
import { days, minutes } from '../../clock.ts'
import { sql } from '../../db/sql.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { addIngressMinutes, bucketCount } from '../metrics/index.ts'
import { setTag, updateSquid, type SquidRow } from '../versions/index.ts'
import { makeVersion } from '../versions/testing/make-version.ts'
import { publicPagesOf, runStatusRound } from './index.ts'
import type { PublicPage } from './public/read-page.ts'

let t: TestApp
let org: TestOrg
let squid: SquidRow
beforeEach(async () => {
  t = await startTestApp()
  org = await t.make.org({ code: 'acme' })
  squid = await makeVersion(t.app, org, { name: 'swaps', slot: 'v1', apis: [{}] })
  await setTag(t.app.db, squid, 'prod', t.clock.now())
})
afterEach(() => t?.close())

const swaps = { squid: 'swaps', tag: 'prod', name: 'Swaps API' }
const settings = (change: object = {}) => ({
  isEnabled: true,
  title: 'Acme',
  slug: 'acme',
  tags: [swaps],
  alertKinds: ['API_DOWN' as const],
  ...change,
})
const save = (change: object = {}) =>
  t.as(org.admin).statusPage.update({ params: { code: 'acme' }, body: settings(change) })
const get = (path: string, headers: Record<string, string> = {}) => t.http.inject({ url: path, headers })
const page = async () => {
  publicPagesOf(t.app).evictAll()
  return (await get('/status/acme.json')).json<PublicPage>()
}

const incidentBody = { title: 'Errors', impact: 'OUTAGE' as const, tags: [], state: 'INVESTIGATING' as const }
type StatusPageApi = ReturnType<TestApp['as']>['statusPage']

const setApi = (isAvailable: boolean, { id, generation } = squid) =>
  t.app.db.execute(sql`insert into api_states (squid_id, generation, container, is_available, since)
    values (${id}, ${generation}, 'api', ${isAvailable}, ${t.clock.now().toISOString()})
    on conflict (squid_id, generation, container) do update set is_available = excluded.is_available`)
const rounds = async (n: number, isObserved = true) => {
  for (let i = 0; i < n; i++) {
    t.clock.advance(minutes(1))
    await runStatusRound(t.app, async () => isObserved)
  }
}
const count = (counts: { successes?: number; errors?: number; failures?: number }, { id } = squid) =>
  addIngressMinutes(t.app.database, [
    {
      squidId: id,
      minute: new Date(Math.floor(t.clock.now().getTime() / 60_000) * 60_000),
      successes: 0,
      errors: 0,
      failures: 0,
      successBytes: 0,
      errorBytes: 0,
      histogram: Array.from({ length: bucketCount }, () => 0),
      ...counts,
    },
  ])

test('a page is found only while it is turned on', async () => {
  const unknown = await get('/status/never-existed')
  expect(unknown.statusCode).toBe(404)
  expect((await get('/status/acme')).body).toBe(unknown.body)
  expect(await t.as(org.admin).statusPage.get({ params: { code: 'acme' } })).toMatchObject({
    isEnabled: false,
    slug: 'acme',
  })
  await save()
  const html = await get('/status/acme')
  expect([html.statusCode, html.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(html.body).toContain('Swaps API')
  await save({ isEnabled: false })
  for (const path of ['/status/acme', '/status/acme.json', '/status/acme/feed.xml']) {
    const off = await get(path)
    expect([off.statusCode, off.body]).toEqual([404, unknown.body])
  }
})

test('time without a healthy api counts as down; time that was not observed counts neither as up nor as down', async () => {
  await save()
  await setApi(true)
  await rounds(10)
  await setApi(false)
  await rounds(5)
  await rounds(7, false)
  // No round runs for 30 minutes.
  t.clock.advance(minutes(30))
  await rounds(1)
  const [tag] = (await page()).tags
  // The first round after the gap adds nothing, because the state during the gap is unknown.
  expect(tag).toMatchObject({ status: 'outage', downMinutes: 5, availability: 66.66 })
})

test('a hibernated squid is shown as hibernated, not as an outage', async () => {
  await save()
  await updateSquid(t.app.db, squid.id, { desiredState: 'hibernated' })
  await rounds(10, false)
  await count({ errors: 20 })
  await rounds(4)
  const { status, tags } = await page()
  expect(status).toBe('hibernated')
  expect(tags[0]).toMatchObject({ status: 'hibernated', downMinutes: 0 })
  expect(tags[0]?.days.at(-1)).toMatchObject({ status: 'hibernated', hibernatedMinutes: 14 })
})

test('each request counts once; after a tag moves, the requests to its new version count', async () => {
  await save()
  t.clock.advance(minutes(1))
  await count({ successes: 990, errors: 20, failures: 10 })
  await rounds(6)
  expect((await page()).tags[0]?.availability).toBe(99)
  const other = await makeVersion(t.app, org, { name: 'swaps', slot: 'v2', apis: [{}] })
  await setTag(t.app.db, other, 'prod', t.clock.now())
  await count({ errors: 1000, failures: 1000 })
  await count({ successes: 1000 }, other)
  await rounds(6)
  expect((await page()).tags[0]?.availability).toBe(99.5)
})

test('a page shows the last 90 days and today, and no older days', async () => {
  await save()
  await t.app.db.execute(sql`insert into status_days (tag_id, day, requests, failures)
    select id, d.day, 100, d.failures from status_tags, (values (date '2025-10-16', 100), (date '2025-10-17', 100)) as d (day, failures)`)
  const [tag] = (await page()).tags
  expect(tag?.days).toHaveLength(91)
  expect(tag?.days[0]).toMatchObject({ day: '2025-10-17', status: 'outage' })
  expect(tag?.days.at(-1)?.day).toBe('2026-01-15')
  t.clock.advance(days(1))
  expect((await page()).tags[0]?.days.every(({ status }) => status === 'unknown')).toBe(true)
})

test('a tag that is removed from the page disappears, with the incidents about it alone', async () => {
  await save({ tags: [swaps, { ...swaps, tag: 'beta', name: 'Secret beta' }] })
  const incidents = t.as(org.admin).statusPage
  const body = {
    title: 'Slow',
    impact: 'DEGRADED',
    tags: [{ squid: 'swaps', tag: 'beta' }],
    state: 'INVESTIGATING',
    text: 'We look into it.',
  } as const
  await incidents.createIncident({ params: { code: 'acme' }, body: body as never })
  expect((await get('/status/acme')).body).toContain('Secret beta')
  await save()
  for (const path of ['/status/acme', '/status/acme.json', '/status/acme/feed.xml']) {
    const { body: text } = await get(path)
    expect(text).not.toContain('Secret beta')
    expect(text).not.toContain('Slow')
  }
})

test('an incident is published, updated, edited, resolved and removed', async () => {
  await save()
  const api = t.as(await t.make.member(org, 'developer')).statusPage
  const params = { code: 'acme' }
  const created = await api.createIncident({
    params,
    body: {
      title: 'Errors',
      impact: 'OUTAGE',
      tags: [{ squid: 'swaps', tag: 'prod' }],
      state: 'INVESTIGATING',
      text: 'First',
    },
  })
  const incidentId = created.id
  expect(await page()).toMatchObject({ status: 'outage', incidents: [{ title: 'Errors', tags: ['Swaps API'] }] })
  t.clock.advance(minutes(5))
  const updated = await api.addUpdate({
    params: { ...params, incidentId },
    body: { state: 'IDENTIFIED', text: 'Second' },
  })
  expect(updated.updates.map(({ text }) => text)).toEqual(['Second', 'First'])
  const updateId = String(updated.updates[0]?.id)
  await api.changeUpdate({ params: { ...params, incidentId, updateId }, body: { text: 'Second, edited' } })
  await api.changeIncident({
    params: { ...params, incidentId },
    body: { title: 'Few errors', impact: 'DEGRADED', tags: [] },
  })
  expect(await page()).toMatchObject({ status: 'degraded', incidents: [{ title: 'Few errors', tags: [] }] })
  await api.addUpdate({ params: { ...params, incidentId }, body: { state: 'RESOLVED', text: 'Third' } })
  expect(await page()).toMatchObject({ status: 'unknown', incidents: [{ resolvedAt: t.clock.now().toISOString() }] })
  expect((await get('/status/acme/feed.xml')).body).toContain('Few errors (resolved)')
  await api.removeIncident({ params: { ...params, incidentId } })
  expect((await page()).incidents).toEqual([])
  await expect(
    api.addUpdate({ params: { ...params, incidentId }, body: { state: 'RESOLVED', text: 'x' } }),
  ).rejects.toMatchObject({ status: 404 })
})

test.each([
  ['the text of an older update', (api, ids) => api.changeUpdate({ params: ids, body: { text: 'First, edited' } })],
  [
    'the title',
    (api, ids) => api.changeIncident({ params: ids, body: { title: 'Few errors', impact: 'OUTAGE', tags: [] } }),
  ],
] satisfies [string, (api: StatusPageApi, ids: Record<'code' | 'incidentId' | 'updateId', string>) => unknown][])(
  'the feed dates an incident by its last change: %s is edited',
  async (_, edit) => {
    await save()
    const api = t.as(await t.make.member(org, 'developer')).statusPage
    const params = { code: 'acme' }
    const body = { ...incidentBody, text: 'First' }
    const { id: incidentId, updates, startedAt } = await api.createIncident({ params, body })
    t.clock.advance(minutes(5))
    await api.addUpdate({ params: { ...params, incidentId }, body: { state: 'IDENTIFIED', text: 'Second' } })
    t.clock.advance(minutes(5))
    const dates = async () => {
      const feed = (await get('/status/acme/feed.xml')).body
      const [ofFeed, ofEntry] = [...feed.matchAll(/<updated>(.*)<\/updated>/g)].map(([, date]) => date)
      return { ofFeed, ofEntry, published: /<published>(.*)<\/published>/.exec(feed)?.[1] }
    }
    const secondAt = new Date(t.clock.now().getTime() - minutes(5)).toISOString()
    expect(await dates()).toEqual({ ofFeed: secondAt, ofEntry: secondAt, published: startedAt })
    await edit(api, { ...params, incidentId, updateId: String(updates[0]?.id) })
    const editedAt = t.clock.now().toISOString()
    expect(await dates()).toEqual({ ofFeed: editedAt, ofEntry: editedAt, published: startedAt })
  },
)

test('an alert of a published kind opens one incident without its reason; when the alert ends, it is resolved', async () => {
  await save()
  const open = (kind: string) =>
    t.app.db.execute(sql`insert into alert_events (org_id, kind, severity, squid_id, label, reason, started_at)
      values (${org.id}, ${kind}, 'CRITICAL', ${squid.id}, 'label', 'private reason at 10.0.0.7', ${t.clock.now().toISOString()})`)
  await open('API_DOWN')
  await open('CRASH_LOOP')
  await rounds(3)
  const opened = await page()
  expect(opened.incidents).toMatchObject([
    { title: 'The API does not respond', impact: 'OUTAGE', resolvedAt: null, tags: ['Swaps API'] },
  ])
  expect(JSON.stringify(opened)).not.toContain('private')
  await t.app.db.execute(sql`update alert_events set ended_at = ${t.clock.now().toISOString()}`)
  await rounds(2)
  const [resolved] = (await page()).incidents
  expect(resolved).toMatchObject({ resolvedAt: expect.any(String) })
  expect(resolved?.updates.map(({ state }) => state)).toEqual(['RESOLVED', 'INVESTIGATING'])
})

test('an incident that a member removed is not opened again by the same alert', async () => {
  await save()
  await t.app.db.execute(sql`insert into alert_events (org_id, kind, severity, squid_id, label, reason, started_at)
    values (${org.id}, 'API_DOWN', 'CRITICAL', ${squid.id}, 'label', 'reason', ${t.clock.now().toISOString()})`)
  await rounds(1)
  const api = t.as(org.admin).statusPage
  const [incident] = await api.listIncidents({ params: { code: 'acme' } })
  await api.removeIncident({ params: { code: 'acme', incidentId: incident?.id ?? '' } })
  await rounds(3)
  expect(await api.listIncidents({ params: { code: 'acme' } })).toEqual([])
})
