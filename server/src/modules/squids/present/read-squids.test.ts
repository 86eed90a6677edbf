import { displayStatus } from '@shoal/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { containerStates } from '../../observing/tables.ts'
import { setTag } from '../../versions/store.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'

let t: TestApp
let org: TestOrg
beforeAll(async () => {
  t = await startTestApp({ env: { SHOAL_GATEWAY_URL: 'https://{org}.squids.example.com' } })
  org = await t.make.org()
})
afterAll(() => t.close())

const get = (reference: string) => t.as(org.admin).squids.get({ params: { code: org.code, reference } })
const list = (query: { name?: string; search?: string } = {}) =>
  t.as(org.admin).squids.list({ params: { code: org.code }, query })

test('a version has all fields that the public client requires, and no `org` field', async () => {
  const squid = await makeVersion(t.app, org, { name: 'whole', apis: [{}], processors: { eth: {}, bsc: {} } })
  await setTag(t.app.db, squid, 'prod', t.app.clock.now())
  await setTag(t.app.db, squid, 'beta', t.app.clock.now())
  const base = `https://${org.code}.squids.example.com/whole`
  const presented = await get('whole:prod')
  expect(presented).toMatchObject({
    name: 'whole',
    slot: 'v1',
    reference: 'whole@v1',
    fullName: 'whole@v1',
    spec: 4,
    status: 'DEPLOYED',
    tags: [{ name: 'beta' }, { name: 'prod' }],
    manifest: { current: {}, raw: '' },
    organization: { id: org.id, code: org.code, name: org.name },
    links: { cloudUrl: `http://localhost:4000/squids/whole/v1?organization=${org.code}` },
    api: {
      status: 'NOT_AVAILABLE',
      urls: [
        { type: 'tag', name: 'beta', url: `${base}:beta/api/graphql` },
        { type: 'tag', name: 'prod', url: `${base}:prod/api/graphql` },
        { type: 'prod_alias', url: `${base}/graphql` },
        { type: 'canonical', url: `${base}@v1/api/graphql` },
      ],
    },
    processors: [
      { name: 'eth', syncState: { currentBlock: -1, totalBlocks: 0 }, metrics: `${base}@v1/processors/eth/metrics` },
      { name: 'bsc', syncState: { currentBlock: -1, totalBlocks: 0 } },
    ],
    addons: {},
    alerts: [],
  })
  expect(presented).not.toHaveProperty('org')
})

test('summaries agree with the full list', async () => {
  const squid = await makeVersion(t.app, org, { name: 'brief', apis: [{}], processors: { eth: {} } })
  const since = t.app.clock.now()
  await setTag(t.app.db, squid, 'prod', since)
  await t.app.db.insert(containerStates).values(
    ['api', 'eth'].map((container) => ({
      squidId: squid.id,
      generation: squid.generation,
      container,
      state: 'backoff' as const,
      since,
      restarts: 2,
      crashesInARow: 3,
      oomKills: 0,
      exitCode: 1,
      isOutOfMemory: false,
    })),
  )
  const summaries = await t.as(org.admin).squids.listSummaries({ params: { code: org.code } })
  const fullList = await list()
  expect(summaries.map(({ reference }) => reference)).toEqual(fullList.map(({ reference }) => reference))
  summaries.forEach((summary, i) => expect(fullList[i]).toMatchObject(summary))
  const brief = summaries.find(({ name }) => name === 'brief')
  expect(brief).toMatchObject({ tags: [{ name: 'prod' }], processors: [{ status: 'STUCK' }] })
  expect(brief).not.toHaveProperty('manifest')
})

test('summaries can be requested by id, but not those of another organization', async () => {
  const squid = await makeVersion(t.app, org, { name: 'one' })
  const other = await t.make.org()
  const foreign = await makeVersion(t.app, other, { name: 'foreign' })
  const summaries = (ids: string) =>
    t.as(org.admin).squids.listSummaries({ params: { code: org.code }, query: { ids } })
  expect((await summaries(`${foreign.id},${squid.id}`)).map(({ reference }) => reference)).toEqual(['one@v1'])
  await expect(summaries('1,two')).rejects.toThrow('Up to 200 ids')
})

test('a version whose first deployment failed is reported as not available, with the reason', async () => {
  const lastDeploy = {
    id: 7,
    type: 'DEPLOY',
    status: 'IMAGE_BUILDING',
    failed: 'SOURCE_FILES_BUILD_FAILED',
    running: false,
  } as const
  await makeVersion(t.app, org, { name: 'broken', row: { image: null, deployedAt: null, lastDeploy } })
  const presented = await get('broken@v1')
  expect(presented).toMatchObject({
    status: 'DEPLOY_ERROR',
    deployedAt: null,
    api: { status: 'NOT_AVAILABLE', reason: 'It was never deployed successfully.' },
    alerts: [{ label: 'Last deploy was finished with an error', severity: 'CRITICAL' }],
  })
  expect(displayStatus(presented)).toBe('DEGRADED')
})

test('a hibernated version has the status HIBERNATED, and its api gives hibernation as the reason', async () => {
  await makeVersion(t.app, org, {
    name: 'asleep',
    apis: [{}],
    row: { desiredState: 'hibernated', hibernatedAt: t.app.clock.now() },
  })
  expect(await get('asleep@v1')).toMatchObject({
    status: 'HIBERNATED',
    api: { reason: expect.stringContaining('hibernated') },
  })
})

test('secrets that changed since the programs started raise an alert', async () => {
  const secretsReadAt = t.app.clock.now()
  await makeVersion(t.app, org, { name: 'secretive', row: { secretNames: ['KEY'], secretsReadAt } })
  const set = (name: string, value: string) =>
    t
      .as(org.admin)
      .secrets.change({ params: { code: org.code }, body: { secrets: [{ action: 'UPDATE', name, value }] } })
  await set('KEY', 'one')
  await set('OTHER', 'one')
  expect((await get('secretive@v1')).alerts).toEqual([])
  t.clock.advance(minutes(1))
  await set('KEY', 'two')
  await set('OTHER', 'two')
  expect((await get('secretive@v1')).alerts).toMatchObject([
    { label: 'Secrets are outdated', severity: 'WARNING', reason: expect.stringContaining(': KEY, OTHER.') },
  ])
})

describe('the list', () => {
  test('contains the versions of one organization, sorted by name and newest first, and can be searched', async () => {
    const other = await t.make.org()
    const listedOrg = await t.make.org({ admin: other.admin })
    for (const [name, slot] of [
      ['beta', 'v1'],
      ['alpha', 'v1'],
      ['alpha', 'v2'],
    ] as const)
      await makeVersion(t.app, listedOrg, { name, slot })
    await makeVersion(t.app, other, { name: 'alpha', slot: 'v1' })
    const references = async (query: { name?: string; search?: string } = {}) =>
      (await t.as(listedOrg.admin).squids.list({ params: { code: listedOrg.code }, query })).map(
        (squid) => squid.reference,
      )
    expect(await references()).toEqual(['alpha@v2', 'alpha@v1', 'beta@v1'])
    expect(await references({ name: 'alpha' })).toEqual(['alpha@v2', 'alpha@v1'])
    expect(await references({ search: 'HA@V2' })).toEqual(['alpha@v2'])
    expect(await references({ search: '%' })).toEqual([])
    expect(await references({ search: '^AL' })).toEqual(['alpha@v2', 'alpha@v1'])
    expect(await references({ search: '^pha' })).toEqual([])
    expect(await references({ search: 'a.p.a@v1$' })).toEqual(['alpha@v1'])
    // Invalid patterns are searched for literally.
    for (const invalidPattern of ['alpha@v2(', 'a{2,1}', '[', '(?<=a)b'])
      expect(await references({ search: invalidPattern })).toEqual([])
    // Engines that backtrack would need minutes for these patterns. The last pattern is nearly as long as a search may be.
    for (const slowPattern of ['(a+)+$', '(((a{1,99}){1,99}){1,99}){1,99}', `(${'a?'.repeat(90)})+b`])
      await references({ search: slowPattern })
    const ofUser = await t.as(listedOrg.admin).squids.listMine({ query: { name: 'alpha' } })
    expect(ofUser.map((squid) => `${squid.organization.code}/${squid.reference}`).sort()).toEqual(
      [`${listedOrg.code}/alpha@v1`, `${listedOrg.code}/alpha@v2`, `${other.code}/alpha@v1`].sort(),
    )
  })

  test('uses the same number of queries regardless of its length', async () => {
    const queries = { count: 0 }
    const { pool } = t.app.database
    const query = pool.query.bind(pool) as (...args: unknown[]) => unknown
    const countedQuery = (...args: unknown[]) => {
      queries.count++
      return query(...args)
    }
    Object.assign(pool, { query: countedQuery })
    try {
      const listAndCount = async () => {
        queries.count = 0
        const { length } = await list()
        return { length, queries: queries.count }
      }
      const before = await listAndCount()
      for (let i = 0; i < 30; i++)
        await makeVersion(t.app, org, { name: `many-${i}`, apis: [{}], processors: { eth: {} } })
      expect(await listAndCount()).toEqual({ length: before.length + 30, queries: before.queries })
    } finally {
      Reflect.deleteProperty(pool, 'query')
    }
  })
})
