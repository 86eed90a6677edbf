import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { deploySimulated, type Deployer } from '../../e2e/support/simulated-squid.ts'
import { until } from '../../e2e/support/until.ts'
import { startEmbeddedPostgres } from '../../runtime/src/postgres/embedded-postgres.ts'
import { type Bench, atMost, median } from '../bench/support/result.ts'
import { makeOpenFolder } from '../open-folder.ts'
import { org, slowDown, withConsole } from './support/console.ts'

const versions = 1_000
const rounds = 5
const polls = 18
/** Slightly longer than the console's interval (spec 9), so that polls do not stay in phase with the worker's rounds every 15 s. */
const pollIntervalMs = 10_370
/** Every nth poll requests all versions, the others only the visible ones (console/src/api/long-list.ts). */
const pollsPerFullPoll = 6
/** The interval at which a worker reads the metrics of processors. */
const metricsIntervalMs = 3_000

/** The tables whose rows belong to a version. */
const tables = ['squid_tags', 'squid_databases', 'container_states', 'processor_states', 'api_states']

/** Copies the deployed version with its observations, so that the copies appear to run. */
async function copyVersion(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const columnsOf = async (table: string, except: string[]) => {
      const { rows } = await client.query<{ column: string }>(
        `select column_name as column from information_schema.columns where table_name = $1 and column_name <> all($2) and is_generated = 'NEVER'`,
        [table, except],
      )
      return rows.map(({ column }) => column).join(', ')
    }
    const columns = await columnsOf('squids', ['id', 'name', 'slot', 'sealed_workload'])
    await client.query(`
      insert into squids (name, slot, ${columns})
      select 'squid-' || (n / 4), 'v' || n, ${columns}
      from squids cross join generate_series(1, ${versions - 1}) as n`)
    for (const table of tables) {
      const otherColumns = await columnsOf(table, ['squid_id', 'squid_name'])
      const [name, ofName] = table === 'squid_tags' ? [', squid_name', ', s.name'] : ['', '']
      // Only one version of a squid can have a tag.
      await client.query(`
        insert into ${table} (squid_id${name}, ${otherColumns}) select s.id${ofName}, ${otherColumns.replaceAll(/\w+/g, 't.$&')}
        from ${table} t join squids first on first.id = t.squid_id join squids s on s.id <> first.id
        on conflict do nothing`)
    }
  } finally {
    await client.end()
  }
}

/** Advances every processor in the database while `work` runs, as a worker would, so that no two polls get the same response. */
async function whileProcessorsAdvance<T>(databaseUrl: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const controller = new AbortController()
  const advance = async () => {
    while (!controller.signal.aborted) {
      await client.query(`
        update processor_states set current_block = current_block + 2, total_blocks = total_blocks + 2,
          progressed_at = now(), head_moved_at = now(), scraped_at = now()`)
      await sleep(metricsIntervalMs, undefined, { signal: controller.signal }).catch(() => undefined)
    }
  }
  const advancing = advance()
  try {
    return await work()
  } finally {
    controller.abort()
    await advancing.finally(() => client.end())
  }
}

/** Returns the milliseconds until the headers of each response. Polls `onScreen` versions, and once a minute all versions. */
async function pollTimes({ shoal, token, api }: Deployer, onScreen: number): Promise<number[]> {
  const summaries = await api.squids.listSummaries({ params: { code: org } })
  const ids = summaries.slice(0, onScreen).map(({ id }) => id)
  const times: number[] = []
  for (let round = 0; round < polls; round++) {
    await sleep(pollIntervalMs)
    const [query, expected] = round % pollsPerFullPoll === 0 ? ['', versions] : [`?ids=${ids.join(',')}`, onScreen]
    const headers = { authorization: `token ${token}`, 'accept-encoding': 'br, gzip' }
    const startedAt = performance.now()
    const response = await fetch(`${shoal.url}/api/v1/orgs/${org}/squids/summaries${query}`, { headers })
    times.push(performance.now() - startedAt)
    const { payload } = (await response.json()) as { payload: unknown[] }
    if (payload.length !== expected) throw new Error(`${payload.length} versions were returned, not ${expected}`)
  }
  return times
}

async function isObserved({ api }: Deployer): Promise<boolean> {
  const [squid] = await api.squids.listSummaries({ params: { code: org } })
  const { processors = [], addons } = squid ?? { addons: {} }
  return processors.every(({ status }) => status === 'SYNCED') && addons.postgres?.disk.usageStatus !== 'UNKNOWN'
}

export const bench: Bench = {
  name: 'list',
  async *run() {
    const postgres = await startEmbeddedPostgres({ dir: makeOpenFolder('pg-') })
    const databaseUrl = postgres.url('postgres')
    try {
      yield* await withConsole(
        { SHOAL_RUNTIME: 'sim', DATABASE_URL: databaseUrl },
        async function* ({ page, deployer, shoal }) {
          await deploySimulated(deployer, {
            name: 'transfers',
            slot: 'v1',
            tag: 'production',
            processors: { eth: {}, base: {} },
          })
          await until(() => isObserved(deployer), 'the version is fully observed')
          await copyVersion(databaseUrl)
          await slowDown(page)
          const usable: number[] = []
          for (let round = 0; round < rounds; round++) {
            await page.goto('about:blank')
            await page.goto(`${shoal.url}/squids?organization=${org}`, { waitUntil: 'commit' })
            await page.locator('[data-row]').first().waitFor()
            // The page is usable when the browser is free to handle a click.
            usable.push(
              await page.evaluate<number>('new Promise((done) => requestIdleCallback(() => done(performance.now())))'),
            )
          }
          yield atMost(1_500, `list, usable with ${versions} versions, 4 × slower`, median(usable), 'ms')

          const onScreen = await page.locator('[data-row]').count()
          await page.goto('about:blank')
          const pollMs = await whileProcessorsAdvance(databaseUrl, () => pollTimes(deployer, onScreen))
          const meanMs = pollMs.reduce((sum, ms) => sum + ms, 0) / polls
          yield atMost(20, `list, server time of a poll of ${versions} versions`, meanMs, 'ms')
        },
      )
    } finally {
      await postgres.stop()
    }
  },
}
