import type { Processor } from '@shoal/contract'
import type { Db } from '../../../db/database.ts'
import { lagOf } from './lag.ts'
import { selectContainers, selectProcessors } from './details-store.ts'

/** The lag of one processor. `container` is the processor's name. */
export type ObservedLag = { squidId: number; container: string } & NonNullable<Processor['lag']>

/**
 * Returns how far the running processors of an organization are behind their chains, as the API returns it. Omits processors whose lag
 * is unknown: those without an independent head that have not responded since `sinceMs`.
 */
export async function listLags(
  db: Db,
  orgId: number,
  times: { sinceMs: number; nowMs: number },
): Promise<ObservedLag[]> {
  const [containers, processors] = await Promise.all([selectContainers(db, { orgId }), selectProcessors(db, { orgId })])
  const keyOf = (squidId: number, name: string) => `${squidId} ${name}`
  const running = new Set(
    containers.filter(({ state }) => state === 'running').map((row) => keyOf(row.squidId, row.container)),
  )
  return processors.flatMap((metrics) => {
    const { squidId, processor, scrapedAtMs, unresponsiveSinceMs } = metrics
    const lag = running.has(keyOf(squidId, processor)) ? lagOf(metrics, times.nowMs) : null
    const isResponding = unresponsiveSinceMs === null && scrapedAtMs >= times.sinceMs
    return lag && (isResponding || lag.source === 'rpc') ? [{ squidId, container: processor, ...lag }] : []
  })
}
