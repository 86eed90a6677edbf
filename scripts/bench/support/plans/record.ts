import { startDevnet } from '../../../devnet/devnet.ts'
import { startExternalPostgres } from '../../../external-postgres.ts'
import { openBenchApp } from './app.ts'
import { startStoreCoverage } from './coverage.ts'
import { fillInstallation } from './fill.ts'
import { explainSettings, PlanRecorder, type RecordedStatement } from './recorder.ts'
import { runEverything } from './run.ts'
import { startProvider } from './services.ts'

type Recording = {
  statements: RecordedStatement[]
  /** The functions with SQL that the server never called, as `path#name`. */
  uncalled: string[]
  /** The loops that did not complete a round in time. */
  unfinished: string[]
  /** Lines of the log about statements that failed. */
  failedStatements: string[]
}

/** Fills a database with `versions` versions, and records the plans of all statements that a server sends to it. */
export async function recordPlans(versions: number): Promise<Recording> {
  const postgres = await startExternalPostgres(explainSettings)
  try {
    const url = postgres.url('shoal')
    const filling = await openBenchApp(url, versions)
    try {
      await fillInstallation(filling.app.database.pool, versions)
      // This setting applies only to connections that are opened later.
      await filling.app.database.pool.query('alter database shoal set auto_explain.log_min_duration = 0')
    } finally {
      await filling.close()
    }
    const recorder = new PlanRecorder()
    const coverage = await startStoreCoverage()
    await using devnet = await startDevnet({ transfers: 20 })
    await using provider = await startProvider()
    const options = { devnetUrl: devnet.rpcUrl, external: provider.external }
    const { app, failedStatements, close } = await openBenchApp(url, versions, options)
    let unfinished: string[]
    try {
      unfinished = await runEverything(app, recorder)
    } finally {
      await close()
    }
    return { unfinished, statements: recorder.statements(), uncalled: await coverage.uncalled(), failedStatements }
  } finally {
    await postgres.stop()
  }
}
