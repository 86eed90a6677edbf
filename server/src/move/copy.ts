import { migrate } from '../db/migrate.ts'
import { systemClock } from '../clock.ts'
import { endWith } from '../db/copy-rows.ts'
import { createDatabaseHosts } from '../db/database-hosts.ts'
import { markArrived, selectMoveMark, writeMark } from '../installation/move-mark-store.ts'
import type { MoveDetails } from '../installation/tables.ts'
import { startJobs } from '../jobs/jobs.ts'
import { servers } from '../modules/databases/index.ts'
import { recordAudit } from '../modules/audit/index.ts'
import { installationMoves } from '../modules/deployments/index.ts'
import { copyTableRows, dropContents, listQueues, listTableNames, lockTables } from './control-plane-store.ts'
import { connectForMove } from './move-client-store.ts'
import type { MovingApp, PlannedDatabase } from './plan.ts'
import type { Side } from './side.ts'
import { targetName } from './side.ts'

type Copies = {
  moveId: string
  databases: PlannedDatabase[]
  images: Record<string, string>
  stoppedAt: Date
  /** Fails if the contents of the target must not be replaced. */
  beforeReplace: () => Promise<void>
  /** Fails if the source must not be marked as departed. */
  beforeDeparture: () => Promise<void>
  step: (what: string) => void
  onBytes: (bytes: number) => void
  signal: AbortSignal
}

/** What was copied. `rows`: of the control plane and of all versions. */
export type CopiedInstallation = { details: MoveDetails; tables: number; rows: number; databases: number }

/**
 * Copies the databases of versions and the control plane while all their tables are locked against writes, compares the copies with their
 * sources, and marks both databases of the control plane: first the target as `copied`, which a server may not use, then the source as `departed`,
 * which no server may use any more. A failure before the second mark leaves the source as it was.
 */
export async function copyInstallation(
  source: Side,
  target: Side,
  app: MovingApp,
  copies: Copies,
): Promise<CopiedInstallation> {
  const { databases, signal, step } = copies
  await using cleanup = new AsyncDisposableStack()
  const from = endWith(cleanup, signal, await connectForMove(source.database.url))
  const queues = await listQueues(from)
  step('Preparing the database of the control plane')
  const to = endWith(cleanup, signal, await connectForMove(target.database.url))
  await copies.beforeReplace()
  await dropContents(to, await listTableNames(from))
  await migrate(target.database.pool)
  const jobs = await startJobs(
    target.database,
    target.log,
    queues.map((name) => ({ name })),
  )
  await jobs.close()
  const tables = await lockTables(from)
  const checks: (() => Promise<void>)[] = []
  const copied = databases.filter(({ isCopied }) => isCopied)
  let rows = 0
  for (const [index, { row, to: server }] of copied.entries()) {
    step(`Copying the database ${row.database} (${index + 1} of ${copied.length})`)
    let seen = 0
    const onProgress = (bytes: number) => {
      copies.onBytes(bytes - seen)
      seen = bytes
    }
    const copy = await servers.copies.copy(app, row, targetName(server), { signal, onProgress })
    cleanup.defer(copy.release)
    checks.push(copy.check)
    rows += copy.copied.rows
  }
  step('Copying the control plane')
  await to.query('begin')
  const controlPlane = await copyTableRows(from, to, tables, copies.onBytes)
  const details: MoveDetails = {
    servers: Object.fromEntries(databases.map(({ row, to: server }) => [row.squidId, server])),
    copied: copied.map(({ row }) => row.squidId),
    images: copies.images,
  }
  const mark = { id: copies.moveId, details, stoppedAt: copies.stoppedAt }
  await writeMark(to, { ...mark, state: 'copied', other: source.location })
  await to.query('commit')
  await to.query('analyze')
  step('Marking the source')
  // A broken connection has released its locks.
  for (const check of checks) await check()
  await copies.beforeDeparture()
  signal.throwIfAborted()
  await writeMark(from, { ...mark, state: 'departed', other: target.location })
  await from.query('commit')
  // Only now may sessions of programs continue, which the next step ends.
  return { details, tables: controlPlane.tables, rows: rows + controlPlane.rows, databases: copied.length }
}

/**
 * Ends a move whose source is marked as `departed`: closes the copied databases in the source, and makes the target
 * the installation, whose next worker starts the programs. May be repeated.
 */
export async function finishMove(
  source: Side,
  target: Side,
  app: MovingApp,
  move: { id: string; details: MoveDetails },
  step: (what: string) => void,
): Promise<{ versions: number }> {
  const { details } = move
  step('Closing the databases of the source')
  const copied = new Set(details.copied)
  for (const row of await servers.copies.list(app.db)) if (copied.has(row.squidId)) await servers.copies.close(app, row)
  step('Arriving')
  const targetApp = {
    ...app,
    db: target.database.db,
    database: target.database,
    databaseHosts: createDatabaseHosts(target.hosts),
  }
  const at = systemClock.now()
  const versions = await targetApp.db.transaction(async (tx) => {
    // An earlier attempt may have ended after this transaction.
    if ((await selectMoveMark(tx))?.state === 'arrived') return 0
    await servers.copies.saveServers(targetApp, tx, (row) => details.servers[row.squidId] ?? row.server)
    const started = await installationMoves.enqueueRestarts(tx, at, { id: move.id, images: details.images })
    await recordAudit(tx, { at, action: 'cli.moveRuntime', subject: target.location, after: { from: source.location } })
    await markArrived(tx, at)
    return started
  })
  for (const host of target.hosts) await servers.copies.limit(targetApp, host)
  return { versions }
}
