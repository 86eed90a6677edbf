import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../app.ts'
import type { Config } from '../config/config.ts'
import { canQuery } from '../db/probe.ts'
import type { CertificateFact } from '../modules/certificates/index.ts'
import { freeShare, minFreeShare, readDisk, reserveBytes, type DiskSpace } from './disk.ts'

/** The names of checks. `config/operate-sections.ts` describes each. */
export type CheckName = 'database' | 'worker' | 'gateway' | 'squids' | 'disk' | 'server'

export type Readiness = {
  isReady: boolean
  /** The dependencies of this process: each `ok` or a description of the problem. */
  checks: Partial<Record<CheckName, string>>
  /** Information that does not affect readiness. Ages are in seconds; null means unknown or never. */
  facts: Record<string, string | number | null | CertificateFact[]>
}

export type ReadinessApp = Pick<App, 'config' | 'clock' | 'database' | 'databaseHosts' | 'componentStates' | 'draining'>

/** Short enough to respond within two seconds even if a check hangs. */
const checkTimeoutMs = 1_800
/** Results are cached, since anyone may send requests and each check opens a connection to the database. */
const maxResultAgeMs = 1_000
/** Far longer than the second between two observations of a worker. */
const maxObservationAgeMs = 30_000
const maxRoutesAgeMs = 120_000

const latestResults = new WeakMap<ReadinessApp['database'], { result: Promise<Readiness>; atMs: number }>()

/** Checks the dependencies of this process. Calls within a second share one result. Never rejects. */
export function readiness(app: ReadinessApp): Promise<Readiness> {
  const cached = latestResults.get(app.database)
  if (cached && performance.now() - cached.atMs < maxResultAgeMs) return cached.result
  const result = checkNow(app)
  latestResults.set(app.database, { result, atMs: performance.now() })
  return result
}

async function checkNow(app: ReadinessApp): Promise<Readiness> {
  const [database, disk, logsDatabase, squidsPostgres] = await Promise.all([
    withTimeout(queryDatabase(app.database.url), 'does not respond'),
    withTimeout(readDisk(app.config.dataDir), null),
    checkLogsDatabase(app.config.SHOAL_LOGS_DATABASE_URL),
    checkSquidsPostgres(app),
  ])
  const worker = app.componentStates?.worker?.()
  const gateway = app.componentStates?.gateway?.()
  const checks: Readiness['checks'] = { database }
  if (worker) checks.worker = workerProblem(worker) ?? 'ok'
  if (gateway)
    checks.gateway = gateway.routesReadMs > maxRoutesAgeMs ? 'cannot read its routes' : (gateway.problem ?? 'ok')
  const directoryProblem = worker || gateway ? app.componentStates?.directory() : null
  if (directoryProblem) checks.squids = directoryProblem
  checks.disk = diskProblem(disk) ?? 'ok'
  if (app.draining?.aborted) checks.server = 'is stopping'
  const facts: Readiness['facts'] = {
    diskFreePercent: disk && Math.floor(freeShare(disk) * 100),
    diskWarning: disk && diskWarning(disk, app.config),
    lastBackupSecondsAgo: secondsSince(app, readLastBackup(app.config.dataDir)),
  }
  if (logsDatabase !== null) facts['logsDatabase'] = logsDatabase
  if (squidsPostgres !== null) facts['squidsPostgres'] = squidsPostgres
  if (worker) {
    facts['worker'] = worker.state.role
    facts['lastObservationSecondsAgo'] = toSeconds(worker.observationAgeMs)
  }
  if (gateway) facts['routesReadSecondsAgo'] = toSeconds(gateway.routesReadMs)
  const certificates = app.componentStates?.certificates
  if (certificates) facts['certificates'] = await withTimeout<CertificateFact[] | null>(certificates(), null)
  return { isReady: Object.values(checks).every((check) => check === 'ok'), checks, facts }
}

const withTimeout = <T>(work: Promise<T>, fallback: T): Promise<T> =>
  Promise.race([work.catch(() => fallback), pause(checkTimeoutMs, fallback, { ref: false })])

const queryDatabase = async (url: string) => ((await canQuery(url, checkTimeoutMs)) ? 'ok' : 'does not respond')

/** The database of logs is not a check: without it, squids and everything else in the console work. */
const checkLogsDatabase = async (url: string | undefined): Promise<string | null> =>
  url === undefined ? null : await withTimeout(queryDatabase(url), 'does not respond')

/**
 * The Postgres of squids is not a check, since without it the console and the API work. Returns null if squids use the Postgres of the
 * control plane.
 */
async function checkSquidsPostgres({ database, databaseHosts }: ReadinessApp): Promise<string | null> {
  const hosts = databaseHosts.all.filter(({ cluster }) => cluster !== database)
  if (hosts.length === 0) return null
  const problems = await Promise.all(
    hosts.map(async ({ name, cluster }) => {
      const state = await withTimeout(queryDatabase(cluster.url), 'does not respond')
      return state === 'ok' ? [] : [hosts.length === 1 ? state : `${name} ${state}`]
    }),
  )
  return problems.flat().join(', ') || 'ok'
}

const freeText = (disk: DiskSpace) => `only ${(freeShare(disk) * 100).toFixed(1)} % is free`

/** Returns a warning. It does not affect readiness, so that a load balancer does not remove all servers on this disk. */
const diskWarning = (disk: DiskSpace, config: Config): string | null =>
  disk.freeBytes < reserveBytes(disk, config) ? `${freeText(disk)}: deployments are refused` : null

function diskProblem(disk: DiskSpace | null): string | null {
  if (disk === null) return 'does not respond'
  return freeShare(disk) < minFreeShare ? freeText(disk) : null
}

function workerProblem({
  state,
  observationAgeMs,
}: NonNullable<ReturnType<NonNullable<NonNullable<ReadinessApp['componentStates']>['worker']>>>) {
  if (state.role === 'standby')
    return state.frozenForMs === null
      ? null
      : `the active worker has not responded for ${toSeconds(state.frozenForMs)} s`
  const isLate = observationAgeMs !== null && observationAgeMs > maxObservationAgeMs
  return isLate ? `has not observed its containers for ${toSeconds(observationAgeMs)} s` : null
}

const toSeconds = (ms: number | null) => (ms === null ? null : Math.round(ms / 1000))

function secondsSince({ clock }: ReadinessApp, at: Date | null): number | null {
  return at && Math.max(0, Math.round((clock.now().getTime() - at.getTime()) / 1000))
}

/** Returns the path of the file in which `shoal backup` records its last completed run. */
export const lastBackupFile = (dataDir: string): string => join(dataDir, 'last-backup.json')

/** Returns when `shoal backup` last completed; null if it never did, or the record cannot be read. */
export function readLastBackup(dataDir: string): Date | null {
  try {
    const { at } = JSON.parse(readFileSync(lastBackupFile(dataDir), 'utf8')) as { at: string }
    const date = new Date(at)
    return Number.isNaN(date.getTime()) ? null : date
  } catch {
    return null
  }
}
