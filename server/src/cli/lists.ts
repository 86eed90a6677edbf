import type { App } from '../app.ts'
import type { CliOptions } from './commands.ts'
import { readiness } from '../health/readiness.ts'
import { countInstallation } from '../health/status-store.ts'
import { listAllOrgs, listAllSquids, readOverview } from '../modules/operators/index.ts'

type Result = Promise<Record<string, unknown>>

/** Lists the organizations as the operator's console does. Returns `{orgs}`, with the fields of `operators.listOrgs`. */
export async function listOrgs(app: App, { search = '' }: CliOptions): Result {
  return { orgs: await listAllOrgs(app, search) }
}

/** Lists the versions of all organizations as the operator's console does. Returns `{squids}`, with the fields of `operators.listSquids`. */
export async function listSquids(app: App, { search = '' }: CliOptions): Result {
  return { squids: await listAllSquids(app, search) }
}

/** Returns the health checks, the totals of the installation, and the findings and numbers of the operator's overview. */
export async function status(app: App): Result {
  const [{ checks }, counts, overview] = await Promise.all([
    readiness(app),
    countInstallation(app.db),
    readOverview(app),
  ])
  const { findings, deployments, postgres, backup, certificates } = overview
  const processes = overview.replicas.map(({ name, roles, worker, version, isAlive, problems, seenAt }) => {
    return { name, roles, worker, version, isAlive, problems, seenAt }
  })
  return { ...checks, ...counts, findings, processes, deployments, postgres, backup, certificates }
}
