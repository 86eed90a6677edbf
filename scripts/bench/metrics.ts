import { monitoringQueries } from '../../contract/src/index.ts'
import { loadConfig } from '../../server/src/config/config.ts'
import { openApp } from '../../server/src/startup/open-app.ts'
import { Deployer } from './support/deployer.ts'
import { filledDays, fillMetrics, versions } from './support/metrics-fill.ts'
import { type Bench, atMost, median } from './support/result.ts'

async function fill(deployer: Deployer): Promise<void> {
  const env = { SHOAL_DATA_DIR: deployer.shoal.dataDir, SHOAL_RUNTIME: 'sim', SHOAL_LOG_LEVEL: 'warn' }
  const { app, close } = await openApp(loadConfig(env))
  try {
    await fillMetrics(app.database.pool, deployer.org)
  } finally {
    await close('as-found')
  }
}

/** Milliseconds from the question to its whole answer, the median of seven. Throws when an answer is too short to be all. */
async function askedMs(ask: () => Promise<number>, atLeast: number): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < 7; time++) {
    const askedAt = performance.now()
    const points = await ask()
    times.push(performance.now() - askedAt)
    if (points < atLeast) throw new Error(`The answer has ${points} points, not ${atLeast}`)
  }
  return median(times)
}

export const bench: Bench = {
  name: 'metrics',
  async *run() {
    const deployer = await Deployer.start('http://127.0.0.1:8545', { SHOAL_RUNTIME: 'sim' })
    try {
      await fill(deployer)
      const client = deployer.client()
      const from = new Date(Date.now() - filledDays * 86_400_000).toISOString()
      const of = `of ${versions} versions over ${filledDays} days`
      const times: number[] = []
      for (const query of monitoringQueries) {
        const ask = async () => {
          const series = await client.monitoring.query({ params: { code: deployer.org, query }, query: { from } })
          return series.reduce((points, { values }) => points + values.length, 0)
        }
        times.push(await askedMs(ask, versions * 20))
      }
      yield atMost(300, `metrics, slowest chart ${of}`, Math.max(...times), 'ms')
      const ingress = async () =>
        (await client.metrics.getIngress({ params: { code: deployer.org }, query: { from } })).length
      yield atMost(300, `metrics, requests ${of}`, await askedMs(ingress, versions * filledDays), 'ms')
    } finally {
      await deployer.end()
    }
  },
}
