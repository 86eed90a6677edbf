import type { Runtime } from '@shoal/runtime'
import type { App } from '../../../app.ts'
import { hours } from '../../../clock.ts'
import { runAsLeader, type LeaderHandle } from '../../../db/leases.ts'
import { createRedactorSource } from '../../databases/index.ts'
import { blocksOfBacklog, indexBlock, linesOfBlock } from './blocks.ts'
import { findUnindexed, readCursor } from './ingest-store.ts'
import { keepDays, oldestDay } from './retention.ts'
import { createWriter } from './writer.ts'

/**
 * Moves the lines of all containers from the runtime to the database, in one process at a time. A line is stored exactly once: its
 * position in the runtime's log is updated in the same transaction, and the runtime keeps lines until a later position is
 * requested.
 */
export function startLogIngest(app: App & { runtime: Pick<Runtime, 'logs'> }): LeaderHandle {
  return runAsLeader(app.database, app.log, 'log-ingest', async (client, signal) => {
    await keepDays(app)
    const keep = () => void keepDays(app).catch((error: unknown) => app.log.warn({ err: error }, 'log retention'))
    const keeping = setInterval(keep, hours(1))
    try {
      for (const { squidId, indexedSeq, lastSeq } of await findUnindexed(client, linesOfBlock))
        for (const block of blocksOfBacklog(indexedSeq, lastSeq)) await indexBlock(client, squidId, block)
      const writer = createWriter(client, {
        hiding: createRedactorSource(app),
        oldestAtMs: () => Date.parse(oldestDay(app)),
      })
      // Requesting the next batch acknowledges this one.
      for await (const batch of app.runtime.logs(await readCursor(client), signal)) await writer.write(batch)
    } finally {
      clearInterval(keeping)
    }
  })
}
