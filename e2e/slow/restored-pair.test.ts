import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { addOrg, type Org } from '../support/org.ts'
import { makePgSquid } from '../support/pg-squid.ts'
import { connectTo } from '../support/postgres.ts'
import { cliOf, makeDataDir, startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'

/** Returns the source of a processor that indexes one block every 20 ms, each in a transaction, and continues after the last block in its database. */
const processorOf = (name: string) => `
const { Client } = require('pg')
const http = require('node:http')
let height = 0
const metrics = () => 'sqd_processor_last_block ' + height + '\\nsqd_processor_chain_height ' + (height + 1) + '\\n'
http.createServer((request, response) => response.end(metrics())).listen(process.env.PROCESSOR_PROMETHEUS_PORT)
async function main() {
  const client = new Client({ connectionString: process.env.DB_URL })
  await client.connect()
  await client.query('create table if not exists blocks (height int primary key, indexer text)')
  height = (await client.query('select coalesce(max(height), 0) as last from blocks')).rows[0].last
  for (;;) {
    await client.query('begin isolation level serializable')
    await client.query('insert into blocks values ($1, $2)', [height + 1, '${name}'])
    await client.query('commit')
    height++
    await new Promise((resume) => setTimeout(resume, 20))
  }
}
main().catch((error) => { console.error(error); process.exit(1) })
`

let shoal: Shoal
let org: Org
/** The ids of the versions, by name. */
let ids: Record<string, number>
const folder = mkdtempSync(join(tmpdir(), 'shoal-pairs-'))
const [older, newer] = [join(folder, 'older.tar'), join(folder, 'newer.tar')]
const dataDirs: string[] = []

async function deployIndexer(to: Shoal, name: string): Promise<number> {
  const project = makePgSquid(name, { 'processor.js': processorOf(name) })
  try {
    const cloud = { shoal: to, ...org, api: to.as(org.token), project }
    expect(await waitForDeployment(cloud, await deploy(cloud, { name, slot: 'v1' }))).toMatchObject({ failed: 'NO' })
    return (await cloud.api.squids.get({ params: { code: org.org, reference: `${name}@v1` } })).id
  } finally {
    rmSync(dirname(project), { recursive: true, force: true })
  }
}

type Blocks = { last: number; count: number; indexers: string[] }

/** Returns the name of the version's database; null if there is none. */
async function databaseOf(dataDir: string, squidId: number): Promise<string | null> {
  const server = await connectTo(dataDir, 'postgres', 'postgres-squids')
  const { rows } = await server
    .query<{ name: string }>(`select datname as name from pg_database where datname ~ $1`, [`^sq_.*_${squidId}$`])
    .finally(() => server.end())
  return rows[0]?.name ?? null
}

/** Returns the highest indexed block, the number of blocks, and the names of the versions that indexed them; null without a database or table. */
async function blocksOf(dataDir: string, squidId: number): Promise<Blocks | null> {
  const database = await databaseOf(dataDir, squidId)
  if (database === null) return null
  const client = await connectTo(dataDir, database)
  try {
    const result = await client.query<Blocks>(
      'select coalesce(max(height), 0) as last, count(*)::int as count, array_agg(distinct indexer) as indexers from blocks',
    )
    return result.rows[0] ?? null
  } catch {
    return null
  } finally {
    await client.end()
  }
}

/** Waits until the version has indexed more blocks than `height`, without a gap. */
const untilPast = (dataDir: string, squidId: number, height: number) =>
  until(async () => {
    const blocks = await blocksOf(dataDir, squidId)
    if (blocks) expect(blocks.count).toBe(blocks.last)
    return blocks && blocks.last > height ? blocks : null
  }, `squid ${squidId} has indexed more than ${height} blocks`)

/**
 * The data directories of two installations, each a pair of clusters from different backups: the older control plane with the newer
 * databases of squids, and the newer control plane with the older ones.
 */
let restored: { older: string; newer: string }

/** Restores both backups, and swaps their clusters of squids. */
async function restorePairs(): Promise<void> {
  restored = { older: makeDataDir(), newer: makeDataDir() }
  dataDirs.push(restored.older, restored.newer)
  await cliOf(restored.older)('restore', '--from', older)
  await cliOf(restored.newer)('restore', '--from', newer)
  const squidsOf = (dataDir: string) => join(dataDir, 'postgres-squids')
  renameSync(squidsOf(restored.older), squidsOf(folder))
  renameSync(squidsOf(restored.newer), squidsOf(restored.older))
  renameSync(squidsOf(folder), squidsOf(restored.newer))
  for (const dataDir of dataDirs) copyFileSync(join(folder, 'secrets.key'), join(dataDir, 'secrets.key'))
}

let heights: { older: number; newer: number }

beforeAll(async () => {
  shoal = await startShoal()
  org = await addOrg(shoal, 'acme-labs')
  ids = { kept: await deployIndexer(shoal, 'kept'), removed: await deployIndexer(shoal, 'removed') }
  const { last } = await untilPast(shoal.dataDir, ids['kept'] ?? 0, 100)
  await shoal.cli('backup', '--to', older)
  ids['added'] = await deployIndexer(shoal, 'added')
  const params = { code: org.org, reference: 'removed@v1' }
  const { id } = await org.api.squids.delete({ params })
  await waitForDeployment(org, id)
  const later = await untilPast(shoal.dataDir, ids['kept'] ?? 0, last + 200)
  await untilPast(shoal.dataDir, ids['added'], 50)
  await shoal.cli('backup', '--to', newer)
  heights = { older: last, newer: later.last }
  copyFileSync(join(shoal.dataDir, 'secrets.key'), join(folder, 'secrets.key'))
  await shoal.end()
})

beforeAll(restorePairs, 240_000)

afterAll(async () => {
  for (const dir of [folder, ...dataDirs]) rmSync(dir, { recursive: true, force: true })
  // If the preparation failed, the server may still run.
  await shoal?.end()
})

const statusesOf = async (server: Shoal) => {
  const squids = await server.as(org.token).squids.list({ params: { code: org.org } })
  return Object.fromEntries(squids.map(({ name, status }) => [name, status]))
}

test('an older control plane with newer databases: squids continue, a missing database is created empty, and a new version gets no existing database', async () => {
  const server = await startShoal({}, restored.older)
  try {
    const { dataDir } = server
    await untilPast(dataDir, ids['kept'] ?? 0, heights.newer + 50)
    // The squid's database was deleted before the newer backup, so the squid indexes from the start.
    const removed = await untilPast(dataDir, ids['removed'] ?? 0, 20)
    expect(removed.last).toBeLessThan(heights.newer)
    expect(server.output()).toContain('have been created empty')
    expect(await statusesOf(server)).toEqual({ kept: 'DEPLOYED', removed: 'DEPLOYED' })
    expect(await blocksOf(dataDir, ids['added'] ?? 0)).toMatchObject({ indexers: ['added'] })
    expect(await deployIndexer(server, 'another')).toBe(ids['added'])
    expect(await untilPast(dataDir, ids['added'] ?? 0, 5)).toMatchObject({ indexers: ['another'] })
  } finally {
    await server.end()
  }
})

test('a newer control plane with older databases: squids continue where their database ends, and databases of deleted versions are dropped', async () => {
  const server = await startShoal({}, restored.newer)
  try {
    const { dataDir } = server
    await untilPast(dataDir, ids['kept'] ?? 0, heights.older + 50)
    // The squid was deployed after the older backup, so it indexes from the start.
    await untilPast(dataDir, ids['added'] ?? 0, 5)
    expect(server.output()).toContain('have been created empty')
    expect(await statusesOf(server)).toEqual({ kept: 'DEPLOYED', added: 'DEPLOYED' })
    await until(async () => (await databaseOf(dataDir, ids['removed'] ?? 0)) === null, 'the database is dropped')
  } finally {
    await server.end()
  }
})
