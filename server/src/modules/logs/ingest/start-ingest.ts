import type { LogBatch, Runtime } from '@shoal/runtime'
import type { App } from '../../../app.ts'
import { dayOf, hours } from '../../../clock.ts'
import { every } from '../../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../../db/leases.ts'
import { measured } from '../../../health/loops.ts'
import { createRedactorLookup } from '../../databases/index.ts'
import { prepareLogsDatabase } from '../move/adopt.ts'
import { blocksOfBacklog, indexBlock, linesPerBlock } from './blocks.ts'
import { recordWrite } from './counts.ts'
import { createDrops } from './drops.ts'
import { findUnindexed, readCursor, readPendingDrops } from './ingest-store.ts'
import { createLimiter, limitsOf } from './limiter.ts'
import { rotateDayPartitions, oldestDay } from './retention.ts'
import { readQuotaReports, readStoredUsage } from './usage-store.ts'
import { createWriter } from './writer.ts'

/** How often notices are moved to the logs of their versions. */
const noticesIntervalMs = 2_000
/** How often to check for dropped lines that are due to be reported. */
const reportIntervalMs = 1_000
/** How often partitions of new days are created, and those of old days dropped. */
const rotationIntervalMs = hours(1)

/**
 * Moves the lines of all containers from the runtime to the database, in one process at a time. A line is stored exactly once: its
 * position in the runtime's log is updated in the same transaction, and the runtime keeps lines until a later position is
 * requested.
 */
export function startLogIngest(app: App & { runtime: Pick<Runtime, 'logs'> }): LeaderHandle {
  const nowMs = () => app.clock.now().getTime()
  return runAsLeader(app.logsDatabase, app.log, 'log-ingest', async (client, signal) => {
    await prepareLogsDatabase(app, client)
    await rotateDayPartitions(app)
    const ended = new AbortController()
    let rotationTimer: NodeJS.Timeout | undefined
    let loops: Promise<unknown> = Promise.resolve()
    try {
      for (const { squidId, indexedSeq, lastSeq } of await findUnindexed(client, linesPerBlock))
        for (const block of blocksOfBacklog(indexedSeq, lastSeq)) await indexBlock(client, squidId, block)
      const today = dayOf(nowMs())
      const limiter = createLimiter(limitsOf(app.config), app.clock, await readStoredUsage(client, app.db, today))
      const pending = await readPendingDrops(client)
      const drops = createDrops({ pending, quotaReportedOn: await readQuotaReports(client, today) }, limiter)
      const writer = createWriter(client, {
        db: app.db,
        redactors: createRedactorLookup(app),
        oldestAtMs: () => Date.parse(oldestDay(app)),
        clock: app.clock,
        limiter,
        drops,
      })
      const runRotation = measured(app, 'log partitions', rotationIntervalMs, async () => {
        const deletedIds = await rotateDayPartitions(app)
        for (const state of [limiter, drops, writer]) state.evict(deletedIds)
      })
      const rotate = () =>
        runRotation().catch((error: unknown) => app.log.warn({ err: error }, 'failed to rotate the partitions of logs'))
      rotationTimer = setInterval(() => void rotate(), rotationIntervalMs)
      // After a failure, the state in memory may differ from the database. The leader then starts again and reads the state from the
      // database.
      const onError = (error: unknown) => {
        app.log.warn({ err: error }, 'failed to write notices or dropped lines to the logs of versions')
        ended.abort()
      }
      const whileLeading = AbortSignal.any([signal, ended.signal])
      const write = async (batch: LogBatch) => recordWrite(app, await writer.write(batch))
      loops = Promise.all([
        every(
          whileLeading,
          { ms: noticesIntervalMs, onError },
          measured(app, 'log notices', noticesIntervalMs, async () => {
            recordWrite(app, await writer.writeNotices())
          }),
        ),
        every(
          whileLeading,
          { ms: reportIntervalMs, onError },
          measured(app, 'dropped log lines', reportIntervalMs, async () => {
            if (drops.hasDue(nowMs())) await write({ lines: [], dropped: [], cursor: {} })
          }),
        ),
      ])
      // Requesting the next batch acknowledges this one.
      for await (const batch of app.runtime.logs(await readCursor(client), whileLeading, limiter.admits))
        await write(batch)
    } finally {
      clearInterval(rotationTimer)
      ended.abort()
      await loops
    }
  })
}
