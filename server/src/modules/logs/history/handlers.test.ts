import { createSimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LeaderHandle } from '../../../db/leases.ts'
import { systemClock } from '../../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'
import { startLogIngest } from '../ingest/start-ingest.ts'

const lines = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? `ERROR: line ${i}` : `line ${i}`))

let t: TestApp
let org: TestOrg
let ingest: LeaderHandle
beforeEach(async () => {
  t = await startTestApp({ clock: systemClock, runtime: createSimRuntime() })
  org = await t.make.org()
  await makeVersion(t.app, org, { processors: { eth: { print: lines } } })
  ingest = startLogIngest(t.app)
  await until(async () => expect((await history({})).logs).toHaveLength(lines.length))
})
afterEach(async () => {
  await ingest.close()
  await t.close()
})

type Query = { at?: string; orderBy?: 'asc' | 'desc'; limit?: string; level?: string[]; nextPage?: string }
const params = () => ({ code: org.code, reference: 'test-squid@v1' })
const history = (query: Query) => t.as(org.admin).logs.history({ params: params(), query })

test('a page begins with the requested line, in both directions', async () => {
  const before = await history({ at: '10', limit: '3' })
  expect(before.logs.map(({ id }) => id)).toEqual(['10', '9', '8'])
  const after = await history({ at: '10', limit: '3', orderBy: 'asc' })
  expect(after.logs.map(({ id }) => id)).toEqual(['10', '11', '12'])
  const next = await history({ nextPage: String(after.nextPage), limit: '2', orderBy: 'asc' })
  expect(next.logs.map(({ id }) => id)).toEqual(['13', '14'])
})

test('the requested line need not match the filter, but must exist', async () => {
  const errors = await history({ at: '9', level: ['ERROR'], limit: '2' })
  expect(errors.logs.map(({ payload }) => payload)).toEqual(['ERROR: line 6', 'ERROR: line 3'])
  await expect(history({ at: '999' })).rejects.toMatchObject({ status: 404 })
  await expect(history({ at: 'x' })).rejects.toMatchObject({ status: 400 })
})

test('lastId is the id of the last line, even if the filter excludes it', async () => {
  expect(await history({ level: ['FATAL'] })).toEqual({ logs: [], nextPage: null, lastId: '30' })
})

test('a download contains all matching lines, oldest first', async () => {
  const url = `${await t.listen()}/api/v1/orgs/${org.code}/squids/test-squid@v1/logs/download`
  const headers = { authorization: `Bearer ${org.admin.token}` }
  const all = await fetch(url, { headers })
  expect(all.headers.get('content-disposition')).toBe('attachment; filename="test-squid@v1.log"')
  const text = await all.text()
  expect(text.trimEnd().split('\n')).toHaveLength(lines.length)
  expect(text).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR eth ERROR: line 0\n/)
  const errors = await fetch(`${url}?level[]=error&search=line+9`, { headers })
  expect(await errors.text()).toMatch(/^\S+ ERROR eth ERROR: line 9\n$/)
})
