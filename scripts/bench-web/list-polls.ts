import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Deployer } from '../../e2e/support/simulated-squid.ts'
import { type Bench, atMost } from '../bench/support/result.ts'
import { org } from './support/console.ts'
import { withVersions } from './support/versions.ts'

const versions = 1_000
const polls = 18
/** Slightly longer than the console's interval (spec 9), so that polls do not remain in phase with the worker's rounds every 15 s. */
const pollIntervalMs = 10_370
/** Every nth poll requests all versions, the others only the visible ones (console/src/api/long-list.ts). */
const pollsPerFullPoll = 6
/** The interval at which a worker reads the metrics of processors. */
const metricsIntervalMs = 3_000

/** While `work` runs, advances every processor in the database as a worker does, so that each poll gets a different response. */
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

/** Polls `onScreen` versions, and once a minute all versions. Returns the milliseconds until the headers of each response. */
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
    if (payload.length !== expected) throw new Error(`The API returned ${payload.length} versions, not ${expected}`)
  }
  return times
}

export const bench: Bench = {
  name: 'list-polls',
  async *run() {
    yield* withVersions(versions, async function* ({ page, deployer, shoal, databaseUrl }) {
      await page.goto(`${shoal.url}/squids?organization=${org}`)
      await page.locator('[data-row]').first().waitFor()
      const onScreen = await page.locator('[data-row]').count()
      await page.goto('about:blank')
      const pollMs = await whileProcessorsAdvance(databaseUrl, () => pollTimes(deployer, onScreen))
      const meanMs = pollMs.reduce((sum, ms) => sum + ms, 0) / polls
      yield atMost(20, `list-polls, server time of a poll of ${versions} versions`, meanMs, 'ms')
    })
  },
}
