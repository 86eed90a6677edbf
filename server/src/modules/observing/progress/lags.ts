import type { Processor } from '@shoal/contract'
import type { Db } from '../../../db/database.ts'
import { lagOf } from './lag.ts'
import { selectContainers, selectProcessors } from './parts-store.ts'

/** `container`: the processor's name. */
export type ObservedLag = { squidId: number; container: string } & NonNullable<Processor['lag']>

/**
 * How far the running processors of an organization are behind their chains, as the API shows it. Omits processors whose lag is
 * unknown: those without an independent head that have not responded since `sinceMs`.
 */
export async function listLags(db: Db, orgId: number, of: { sinceMs: number; nowMs: number }): Promise<ObservedLag[]> {
  const [containers, processors] = await Promise.all([selectContainers(db, { orgId }), selectProcessors(db, { orgId })])
  const keyOf = (squidId: number, name: string) => `${squidId} ${name}`
  const running = new Set(
    containers.filter(({ state }) => state === 'running').map((row) => keyOf(row.squidId, row.container)),
  )
  return processors.flatMap((seen) => {
    const { squidId, processor, scrapedAtMs, unansweredSinceMs } = seen
    const lag = running.has(keyOf(squidId, processor)) ? lagOf(seen, of.nowMs) : null
    const isAnswering = unansweredSinceMs === null && scrapedAtMs >= of.sinceMs
    return lag && (isAnswering || lag.source === 'rpc') ? [{ squidId, container: processor, ...lag }] : []
  })
}
