import { loadConfig } from '../../server/src/config/config.ts'
import { startLogIngest } from '../../server/src/modules/logs/index.ts'
import { openApp } from '../../server/src/startup/open-app.ts'
import { Deployer } from './support/deployer.ts'
import { logsOf, rareWord } from './support/log-lines.ts'
import { type Bench, atLeast, atMost, median } from './support/result.ts'
import { copyExample } from './support/squid.ts'

const lines = 5_000_000
const reference = 'erc20-transfers@logs'

/** Search texts that match few lines, a third of all lines, and none. */
const searches = [rareWord, 'endpoint', 'no such words']

/** Stores the lines as the worker does. Returns the duration in seconds and the number of stored lines. */
async function ingest(dataDir: string, squidId: string): Promise<{ seconds: number; stored: number }> {
  const { app, close } = await openApp(
    loadConfig({ SHOAL_DATA_DIR: dataDir, SHOAL_RUNTIME: 'sim', SHOAL_LOG_LEVEL: 'warn' }),
  )
  try {
    const before = await countLines(app.database.pool, squidId)
    const { promise: isStored, resolve: onStored } = Promise.withResolvers<void>()
    const startedAt = performance.now()
    const ingesting = startLogIngest({ ...app, runtime: { logs: logsOf(squidId, lines, onStored) } })
    await isStored
    const seconds = (performance.now() - startedAt) / 1000
    await ingesting.close()
    return { seconds, stored: (await countLines(app.database.pool, squidId)) - before }
  } finally {
    await close('as-found')
  }
}

async function countLines(
  pool: { query(sql: string, values: string[]): Promise<{ rows: unknown[] }> },
  squidId: string,
) {
  const { rows } = await pool.query('select count(*) as count from log_lines where squid_id = $1', [squidId])
  return Number((rows[0] as { count: string }).count)
}

/** Returns the duration of the slowest search in milliseconds. Each search is measured as the median of five requests for its first page. */
async function slowestSearchMs(deployer: Deployer): Promise<number> {
  const client = deployer.client()
  const measured: number[] = []
  for (const search of searches) {
    const times: number[] = []
    for (let attempt = 0; attempt < 5; attempt++) {
      const startedAt = performance.now()
      const { logs } = await client.logs.history({ params: { code: deployer.org, reference }, query: { search } })
      times.push(performance.now() - startedAt)
      if (search === rareWord && logs.length !== 10) throw new Error(`The search found ${logs.length} lines, not 10`)
    }
    measured.push(median(times))
  }
  return Math.max(...measured)
}

export const bench: Bench = {
  name: 'logs',
  async *run() {
    const deployer = await Deployer.start('http://127.0.0.1:8545', { SHOAL_RUNTIME: 'sim' })
    try {
      await deployer.deploy(copyExample(), 'logs')
      const squid = await deployer.client().squids.get({ params: { code: deployer.org, reference } })
      // The server is killed so that this process can become the worker. Its Postgres keeps running.
      await deployer.shoal.kill()
      const { seconds, stored } = await ingest(deployer.shoal.dataDir, `${squid.id}`)
      await deployer.shoal.start()
      yield atLeast(20_000, 'logs, lines ingested by one worker', stored / seconds, 'lines/s')
      yield atMost(0, `logs, lines lost of ${lines}`, lines - stored, 'lines')
      yield atMost(300, 'logs, first page of a search', await slowestSearchMs(deployer), 'ms')
    } finally {
      await deployer.end()
    }
  },
}
