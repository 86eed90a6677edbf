import { monitoringQueries } from '../../contract/src/index.ts'
import { loadConfig } from '../../server/src/config/config.ts'
import { openApp } from '../../server/src/startup/open-app.ts'
import { Deployer } from './support/deployer.ts'
import { filledDays, fillMetrics, versionCount } from './support/metrics-fill.ts'
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

/** Returns the median duration of seven requests in milliseconds, including the whole response. @throws if a response is incomplete */
async function responseMs(request: () => Promise<number>, minPoints: number): Promise<number> {
  const times: number[] = []
  for (let attempt = 0; attempt < 7; attempt++) {
    const startedAt = performance.now()
    const points = await request()
    times.push(performance.now() - startedAt)
    if (points < minPoints) throw new Error(`The response has ${points} points, expected at least ${minPoints}`)
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
      const scope = `of ${versionCount} versions over ${filledDays} days`
      const times: number[] = []
      for (const query of monitoringQueries) {
        const request = async () => {
          const series = await client.monitoring.query({ params: { code: deployer.org, query }, query: { from } })
          return series.reduce((points, { values }) => points + values.length, 0)
        }
        // Every chart has far more than 20 points for each version; fewer points mean that data is missing.
        times.push(await responseMs(request, versionCount * 20))
      }
      yield atMost(300, `metrics, slowest chart ${scope}`, Math.max(...times), 'ms')
      const ingress = async () =>
        (await client.metrics.getIngress({ params: { code: deployer.org }, query: { from } })).length
      yield atMost(300, `metrics, requests ${scope}`, await responseMs(ingress, versionCount * filledDays), 'ms')
    } finally {
      await deployer.end()
    }
  },
}
