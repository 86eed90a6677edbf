import { X509Certificate, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { App } from '../app.ts'
import { every } from '../db/every.ts'
import { slowStatements } from '../db/slow-statements.ts'
import { readDisk, reserveBytes } from '../health/disk.ts'
import { loopReports, measured } from '../health/loops.ts'
import { readiness, readLastBackup } from '../health/readiness.ts'
import { shoalVersion } from './version.ts'
import { replicaName } from './replica-name.ts'
import type { ReplicaReport } from './replica-report.ts'
import { deletePredecessors, deleteReplica, recordHeartbeat } from './replicas-store.ts'

/** The interval of heartbeats. */
export const heartbeatMs = 10_000
const maxStatements = 10

export type Heartbeat = {
  /** Writes a heartbeat now. */
  beat: () => Promise<void>
  /** Stops, and deletes the row, since the process ended as intended. */
  close: () => Promise<void>
}

/** Reports the state of this process every ten seconds, so that operators see all processes of the installation. */
export function startHeartbeat(app: App, intervalMs = heartbeatMs): Heartbeat {
  const id = randomUUID()
  const startedMs = performance.now()
  const closing = new AbortController()
  let beats = 0
  const beat = measured(app, 'heartbeat', intervalMs, async () => {
    const report = await readReport(app)
    await recordHeartbeat(app.db, { id, name: replicaName, forMs: performance.now() - startedMs, report })
    if (++beats > 1) await deletePredecessors(app.db, id)
  })
  const onError = (err: unknown) => app.log.warn({ err }, 'failed to write the heartbeat of this process')
  const done = every(closing.signal, { ms: intervalMs, onError }, beat)
  return {
    beat,
    close: async () => {
      closing.abort()
      await done
      await deleteReplica(app.db, id).catch(() => undefined)
    },
  }
}

/** Reads the state of this process. */
export async function readReport(app: App): Promise<ReplicaReport> {
  const [{ checks }, disk, certificateUntil] = await Promise.all([
    readiness(app),
    readDisk(app.config.dataDir).catch(() => null),
    readCertificateEnd(app).catch(() => null),
  ])
  return {
    version: shoalVersion(),
    roles: [...app.config.SHOAL_ROLES],
    worker: app.componentStates?.worker?.().state.role ?? null,
    problems: Object.entries(checks).flatMap(([name, check]) => (check === 'ok' ? [] : [`${name} ${check}`])),
    loops: loopReports(app),
    statements: slowStatements(app.database.url, maxStatements),
    disk: disk && { free: disk.freeBytes, size: disk.sizeBytes, reserve: reserveBytes(disk, app.config) },
    lastBackupAt: readLastBackup(app.config.dataDir)?.toISOString() ?? null,
    certificateUntil,
  }
}

async function readCertificateEnd({ config }: App): Promise<string | null> {
  const source = config.tls?.source
  if (source?.kind !== 'files') return null
  return new X509Certificate(await readFile(source.certificateFile)).validToDate.toISOString()
}
