import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { setOrgStatus } from '../../orgs/index.ts'
import { dropDatabase, ownerConnection, syncDatabase } from '../database.ts'
import { observeDatabases } from './observe-databases.ts'
import type { SquidPlan } from '../../manifest/plan.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'

const mebibyte = 2 ** 20

let t: TestApp
let org: TestOrg
let squidId: number
beforeAll(async () => void (t = await startTestApp()))
afterAll(async () => {
  await dropDatabase(t.app, squidId)
  await t.close()
})

const plan = (totalBytes: number): SquidPlan => ({
  slot: null,
  description: null,
  isDedicated: true,
  init: null,
  api: null,
  processors: [],
  processorProfile: 'small',
  postgres: {
    version: null,
    profile: 'small',
    storage: '',
    totalBytes,
    isAutoresizeRequested: false,
    config: {},
    maxExternalConnections: null,
  },
  rpc: [],
  hasHasura: false,
  hasNeon: false,
  build: { nodeVersion: '20', packageManager: 'auto', installCommand: null, buildCommand: null },
})

const setLimit = (totalBytes: number) => syncDatabase(t.app, { squidId, plan: plan(totalBytes), isPlayground: false })
const get = (as = org.admin) => t.as(as).squids.get({ params: { code: org.code, reference: 'test-squid@v1' } })
const postgres = async () => (await get()).addons.postgres

async function asOwner(statement: string): Promise<void> {
  const client = new Client((await ownerConnection(t.app, squidId))?.url)
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

beforeEach(async () => {
  if (org) return
  org = await t.make.org()
  squidId = (await makeVersion(t.app, org)).id
})

test('the size of a database is measured and reported, with a warning when it is nearly full', async () => {
  await setLimit(1024 * mebibyte)
  expect((await postgres())?.disk).toEqual({ usageStatus: 'UNKNOWN', usedBytes: 0, totalBytes: 1024 * mebibyte })
  await asOwner(`create table filler as select repeat(md5(i::text), 20) as text from generate_series(1, 5000) i`)
  await observeDatabases(t.app)
  const disk = (await postgres())?.disk
  expect(disk).toMatchObject({ usageStatus: 'LOW', totalBytes: 1024 * mebibyte })
  expect(disk?.usedBytes).toBeGreaterThan(5 * mebibyte)
  const used = disk?.usedBytes ?? 0
  await setLimit(Math.round(used / 0.9))
  expect(await get()).toMatchObject({
    addons: { postgres: { disk: { usageStatus: 'WARNING' } } },
    alerts: [{ label: 'Low database space', severity: 'WARNING', reason: expect.stringContaining('9') }],
  })
})

test('the owner of a full database is read-only until there is free space again', async () => {
  const used = (await postgres())?.disk.usedBytes ?? 0
  await setLimit(used - 1)
  await observeDatabases(t.app)
  await expect(asOwner('insert into filler values (1)')).rejects.toThrow('read-only transaction')
  await expect(asOwner('select count(*) from filler')).resolves.toBeUndefined()
  expect(await get()).toMatchObject({
    alerts: [{ severity: 'CRITICAL', reason: expect.stringContaining('only be read') }],
  })
  await setLimit(used * 2)
  await observeDatabases(t.app)
  await expect(asOwner('insert into filler values (1)')).resolves.toBeUndefined()
})

test('members of a paying organization who may see credentials get a read-only connection', async () => {
  const viewer = await get(await t.make.member(org, 'viewer'))
  expect(viewer.addons.postgres).toMatchObject({ connections: [], disk: { totalBytes: expect.any(Number) } })
  const developer = await t.make.member(org, 'developer')
  const [connection] = (await get(developer)).addons.postgres?.connections ?? []
  expect(connection?.params).toMatchObject({ user: expect.stringMatching(/_ro$/), port: expect.any(Number) })
  const client = new Client(connection?.uri)
  await client.connect()
  try {
    expect((await client.query('select count(*)::int as count from filler')).rows).toEqual([{ count: 5001 }])
    await expect(client.query('delete from filler')).rejects.toThrow('permission denied')
  } finally {
    await client.end()
  }
  const [inList] = await t.as(developer).squids.list({ params: { code: org.code } })
  expect(inList?.addons.postgres?.connections).toEqual([])
  await setOrgStatus(t.app, org.id, 'DRAFT')
  expect((await postgres())?.connections).toEqual([])
})
