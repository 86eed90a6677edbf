import { OperatorDeployment, OperatorOverview } from '@shoal/contract'
import type { App } from '../app.ts'
import type { CliOptions } from './commands.ts'
import { readiness } from '../health/readiness.ts'
import { countInstallation } from '../health/status-store.ts'
import { listAllOrgs, listAllSquids, listUnfinishedDeployments, readOverview } from '../modules/operators/index.ts'

type Result = Promise<Record<string, unknown>>

/** Lists the organizations as the operator's console does. Returns `{orgs}`, with the fields of `operators.listOrgs`. */
export async function listOrgs(app: App, { search = '' }: CliOptions): Result {
  return { orgs: await listAllOrgs(app, search) }
}

/** Lists the versions of all organizations as the operator's console does. Returns `{squids}`, with the fields of `operators.listSquids`. */
export async function listSquids(app: App, { search = '' }: CliOptions): Result {
  return { squids: await listAllSquids(app, search) }
}

/**
 * Returns the health checks, the totals of the installation, and the findings and tables of the operator's overview: `processes` and
 * `loops`, `statements`, and the deployments that have not ended, with the fields of `operators.getOverview` and `listDeployments`.
 */
export async function status(app: App): Result {
  const [{ checks }, counts, overview, unfinished] = await Promise.all([
    readiness(app),
    countInstallation(app.db),
    readOverview(app),
    listUnfinishedDeployments(app),
  ])
  // Parsed like a response, so that undeclared fields of heartbeats are not printed.
  const { findings, replicas, ...rest } = OperatorOverview.parse(overview)
  return {
    ...checks,
    ...counts,
    findings,
    processes: replicas.map((replica) => {
      const { loops: _, ...withoutLoops } = replica
      return withoutLoops
    }),
    // One row for each loop and process, as in the table of the page: the text format prints one row per line.
    loops: replicas.flatMap(({ name, loops }) => loops.map((loop) => ({ ...loop, replica: name }))),
    ...rest,
    unfinishedDeployments: OperatorDeployment.array().parse(unfinished.deployments),
  }
}
