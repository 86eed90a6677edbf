import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../../app.ts'
import { lockOrg } from '../orgs/index.ts'
import { selectSquidDatabase, servers } from '../databases/index.ts'
import { selectSquid } from '../versions/index.ts'
import { listLogs } from './log-store.ts'
import { enqueue } from './enqueue.ts'
import { lastStartMs, selectDeployment, selectUnfinished, type DeploymentRow } from './store.ts'

/** What a move costs, estimated before it starts; `shoal squid-database move` prints it. `processorDowntimeMs`: how long no processor would run. */
export type MoveCost = { bytes: number; bytesPerSecond: number; processorDowntimeMs: number; isHibernated: boolean }

/**
 * Checks that the database can be moved, and estimates how long the processors of the version would not run: the time of the copy, at the
 * rate of a sample, plus the time of the last start of the programs. Stops no program.
 * @throws Error with the reason when it cannot be moved
 */
async function measure(app: App, squidId: number, to: string): Promise<MoveCost> {
  const { moves } = servers
  await moves.check(app, squidId, to)
  const { bytes, bytesPerSecond, copyMs } = await moves.estimate(app, squidId, to)
  const isHibernated = (await selectSquid(app.db, squidId))?.desiredState === 'hibernated'
  const startMs = isHibernated ? 0 : ((await lastStartMs(app.db, squidId)) ?? 0)
  return { bytes, bytesPerSecond, processorDowntimeMs: copyMs + startMs, isHibernated }
}

/**
 * Starts the move of a version's database to another server. A repeated request returns the move in progress; null if the database is on
 * the server already.
 * @throws Error with the reason, for the operator, when the version cannot be moved now
 */
async function start(
  app: App,
  squidId: number,
  { to, estimateMs }: { to: string; estimateMs: number | null },
): Promise<DeploymentRow | null> {
  return await app.db.transaction(async (tx) => {
    const found = await selectSquid(tx, squidId)
    const org = found && (await lockOrg(tx, found.orgId))
    const squid = await selectSquid(tx, squidId)
    const database = await selectSquidDatabase(tx, squidId)
    if (!squid || !org || !database || squid.desiredState === 'deleted' || squid.image === null)
      throw new Error('The version no longer exists, or has no database.')
    const unfinished = await selectUnfinished(tx, squidId)
    if (unfinished?.notes.move?.to === to) return unfinished
    if (unfinished)
      throw new Error(`Deployment ${unfinished.id} of the version is in progress. Try again when it has ended.`)
    if (database.server === to) return null
    const isHibernated = squid.desiredState === 'hibernated'
    if (org.suspendedAt && !isHibernated) throw new Error('The organization is being suspended. Try again in a minute.')
    const at = app.clock.now()
    return await enqueue(tx, at, squid, {
      type: isHibernated ? 'HIBERNATE' : 'RESTART',
      userId: null,
      requestKey: `move ${squidId} ${to} ${at.getTime()}`,
      image: isHibernated ? null : squid.image,
      notes: { move: { from: database.server, to, estimateMs } },
    })
  })
}

/** Waits for the end of the move, and passes each line of its log to `onLine`. Returns the reason of its failure; null if it succeeded. */
async function follow(app: App, { orgId, id }: DeploymentRow, onLine: (line: string) => void): Promise<string | null> {
  for (let shown = 0; ; await delay(followMs)) {
    const row = (await selectDeployment(app.db, orgId, id))?.deployment
    const lines = await listLogs(app.db, id, shown)
    for (const { message } of lines) onLine(message)
    shown += lines.length
    if (!row) return 'The organization was deleted.'
    if (row.finishedAt) return row.failed === 'NO' ? null : (row.failureReason ?? row.failed)
  }
}

const followMs = 500

/** Returns the unfinished move of the version's database to the server; null if there is none. */
async function running(app: App, squidId: number, to: string): Promise<DeploymentRow | null> {
  const deployment = await selectUnfinished(app.db, squidId)
  return deployment?.notes.move?.to === to ? deployment : null
}

/** Requests of the operator to move the databases of versions. */
export const moveRequests = { measure, running, start, follow }
