import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { App } from '../app.ts'
import { canQuery } from '../db/probe.ts'
import { readDisk, type Disk } from './disk.ts'

export type Readiness = {
  isReady: boolean
  /** What this process needs: each `ok` or what is wrong with it. */
  checks: Record<string, string>
  /** What is worth knowing and no reason to be unready. Ages in seconds; null is unknown or never. */
  facts: Record<string, string | number | null>
}

export type ReadinessApp = Pick<App, 'config' | 'clock' | 'database' | 'vitals' | 'draining'>

/** Whatever hangs, the answer comes within two seconds. */
const limitMs = 1_800
/** Everybody may ask, and each look opens a connection to the database. */
const freshMs = 1_000
/** A worker looks at its containers every second. */
const oldestObservationMs = 30_000
const oldestRoutesMs = 120_000
/** Below this part of free space its operator should act; below the other one, programs cannot rely on being able to write. */
const warnBelow = 0.05
const fullBelow = 0.01

const latest = new WeakMap<ReadinessApp['database'], { look: Promise<Readiness>; atMs: number }>()

/** How this process does; looks at once are one. Never rejects. */
export function readiness(app: ReadinessApp): Promise<Readiness> {
  const known = latest.get(app.database)
  if (known && performance.now() - known.atMs < freshMs) return known.look
  const look = checkNow(app)
  latest.set(app.database, { look, atMs: performance.now() })
  return look
}

async function checkNow(app: ReadinessApp): Promise<Readiness> {
  const [database, disk] = await Promise.all([
    inTime(queryDatabase(app.database.url), 'does not answer'),
    inTime(readDisk(app.config.dataDir), null),
  ])
  const worker = app.vitals?.worker?.()
  const gateway = app.vitals?.gateway?.()
  const checks: Record<string, string> = { database }
  if (worker) checks['worker'] = workerProblem(worker) ?? 'ok'
  if (gateway)
    checks['gateway'] = gateway.routesReadMs > oldestRoutesMs ? 'cannot read its routes' : (gateway.problem ?? 'ok')
  checks['disk'] = diskProblem(disk) ?? 'ok'
  if (app.draining?.aborted) checks['server'] = 'is stopping'
  const facts: Readiness['facts'] = {
    diskFreePercent: disk && Math.floor(freePart(disk) * 100),
    diskWarning: disk && diskWarning(disk),
    lastBackupSecondsAgo: secondsSince(app, lastBackup(app.config.dataDir)),
  }
  if (worker) {
    facts['worker'] = worker.state.is
    facts['lastObservationSecondsAgo'] = toSeconds(worker.lastObservationMs)
  }
  if (gateway) facts['routesReadSecondsAgo'] = toSeconds(gateway.routesReadMs)
  return { isReady: Object.values(checks).every((check) => check === 'ok'), checks, facts }
}

const inTime = <T>(work: Promise<T>, otherwise: T): Promise<T> =>
  Promise.race([work.catch(() => otherwise), pause(limitMs, otherwise, { ref: false })])

const queryDatabase = async (url: string) => ((await canQuery(url, limitMs)) ? 'ok' : 'does not answer')

const freePart = ({ freeBytes, sizeBytes }: Disk) => (sizeBytes === 0 ? 1 : freeBytes / sizeBytes)

const freeText = (disk: Disk) => `only ${(freePart(disk) * 100).toFixed(1)} % are free`

/** A fact and no reason to be unready: a balancer would take every server of this disk out of service while all of them still work. */
const diskWarning = (disk: Disk): string | null => (freePart(disk) < warnBelow ? freeText(disk) : null)

function diskProblem(disk: Disk | null): string | null {
  if (disk === null) return 'does not answer'
  return freePart(disk) < fullBelow ? freeText(disk) : null
}

function workerProblem({
  state,
  lastObservationMs,
}: NonNullable<ReturnType<NonNullable<NonNullable<ReadinessApp['vitals']>['worker']>>>) {
  if (state.is === 'standby')
    return state.frozenForMs === null
      ? null
      : `the active worker has not responded for ${toSeconds(state.frozenForMs)} s`
  const isLate = lastObservationMs !== null && lastObservationMs > oldestObservationMs
  return isLate ? `has not looked at its containers for ${toSeconds(lastObservationMs)} s` : null
}

const toSeconds = (ms: number | null) => (ms === null ? null : Math.round(ms / 1000))

function secondsSince({ clock }: ReadinessApp, at: Date | null): number | null {
  return at && Math.max(0, Math.round((clock.now().getTime() - at.getTime()) / 1000))
}

/** Where `shoal backup` notes when it was last complete. */
export const lastBackupFile = (dataDir: string): string => join(dataDir, 'last-backup.json')

function lastBackup(dataDir: string): Date | null {
  try {
    const { at } = JSON.parse(readFileSync(lastBackupFile(dataDir), 'utf8')) as { at: string }
    const date = new Date(at)
    return Number.isNaN(date.getTime()) ? null : date
  } catch {
    return null
  }
}
