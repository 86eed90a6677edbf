import { setTimeout as delay } from 'node:timers/promises'
import { startShoal, type Shoal } from '../../e2e/support/shoal.ts'
import type { WorkerApp } from '../../server/src/app.ts'
import { loadConfig } from '../../server/src/config/config.ts'
import { openApp } from '../../server/src/startup/open-app.ts'
import { withProgress } from '../progress.ts'
import { addVersions, firstOrg } from './support/growth/fill.ts'
import { measure, untilRunning, type Measurement } from './support/growth/measure.ts'
import { shareOf, slowestLoops, writeReport } from './support/growth/report.ts'
import { type Bench, type Result, atMost } from './support/result.ts'

/** The numbers of versions, ascending. */
const sizes = (process.env['GROWTH_SIZES'] ?? '10,100,1000,5000,10000').split(',').map(Number)
const settleMs = Number(process.env['GROWTH_SETTLE_MS'] ?? 30_000)
const measuredMs = Number(process.env['GROWTH_MEASURED_MS'] ?? 30_000)
const startTimeoutMs = 300_000

const email = 'growth@example.com'
const metricsToken = 'token-of-the-growth-benchmark-0123456789'

async function makeToken(shoal: Shoal): Promise<string> {
  await shoal.cli('user', 'add', '--email', email, '--name', 'Growth')
  await shoal.cli('org', 'add', '--code', firstOrg, '--name', 'Organization 0', '--email', email)
  await shoal.cli('org', 'set-status', '--code', firstOrg, '--status', 'ACTIVE')
  const { token } = await shoal.cli<{ token: string }>('token', 'add', '--email', email, '--name', 'growth')
  return token
}

/** Kills the server, starts it again, and returns the seconds until the new worker has all programs running. */
async function measureAdoption(shoal: Shoal, app: WorkerApp, versions: number): Promise<number> {
  await shoal.kill()
  const killedMs = Date.now()
  await shoal.start()
  return await untilRunning(app.database.pool, versions, killedMs, startTimeoutMs)
}

function resultsOf(measurement: Measurement): Result[] {
  const { versions, loops, serverMb, postgresMb, serverCores, postgresCores, list, health } = measurement
  const named = (what: string) => `growth, ${versions} versions: ${what}`
  const [slowest] = slowestLoops(loops)
  return [
    atMost(1024, named('memory of server and Postgres'), serverMb + postgresMb, 'MB'),
    atMost(1, named('CPU of server and Postgres'), serverCores + postgresCores, 'cores'),
    ...(slowest ? [atMost(20, named(`slowest loop (${slowest.name})`), shareOf(slowest), '% of its period')] : []),
    atMost(100, named('list of one organization, p99'), list.p99, 'ms'),
    atMost(100, named('/healthz, p99'), health.p99, 'ms'),
    ...(measurement.adoptionSeconds === null
      ? []
      : [atMost(60, named('programs run after a restart'), measurement.adoptionSeconds, 's')]),
  ]
}

export const bench: Bench = {
  name: 'growth',
  async *run() {
    const shoal = await startShoal({
      SHOAL_RUNTIME: 'sim',
      SHOAL_LOG_LEVEL: 'warn',
      SHOAL_METRICS_TOKEN: metricsToken,
    })
    try {
      const token = await makeToken(shoal)
      const { app, close } = await openApp(loadConfig({ ...shoal.settings, SHOAL_ON_EXIT: 'keep' }))
      const { pool } = app.database
      try {
        let count = 0
        for (const versions of sizes) {
          await withProgress(`${versions} versions: insert rows and start programs`, async () => {
            await addVersions(app as WorkerApp, count, versions)
            await untilRunning(pool, versions, 0, startTimeoutMs)
          })
          count = versions
          await pool.query('vacuum analyze')
          await delay(settleMs)
          const idle = await withProgress(`${versions} versions: measure`, () =>
            measure({ shoal, pool, token, metricsToken }, versions, measuredMs),
          )
          const adoptionSeconds = await withProgress(`${versions} versions: restart`, () =>
            measureAdoption(shoal, app as WorkerApp, versions),
          )
          const measurement = { ...idle, adoptionSeconds }
          if (process.env['GROWTH_REPORT']) writeReport([measurement])
          for (const loop of slowestLoops(idle.loops).slice(0, 10))
            console.error(`  ${loop.name}: ${loop.meanMs.toFixed(1)} ms of ${loop.periodMs} ms`)
          yield* resultsOf(measurement)
        }
      } finally {
        await close('keep')
      }
    } finally {
      // A killed server does not wait for tens of thousands of simulated programs; `end` then only removes its Postgres and data.
      await shoal.kill()
      await shoal.end().catch(() => undefined)
    }
  },
}
