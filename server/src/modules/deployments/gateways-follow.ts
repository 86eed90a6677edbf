import { gatewaysBehind } from './gateways-store.ts'
import type { StepContext } from './step.ts'
import { pause } from './wait.ts'

/**
 * Waits until every gateway leads to this generation, so that the old one may end. One that was not seen lately is not waited for:
 * it is gone, or finds out by itself when it wakes up. After a minute the update goes on without those that are behind.
 */
export async function gatewaysFollow(
  { app, intervals, journal, signal }: StepContext,
  squidId: number,
  generation: number,
): Promise<void> {
  const endMs = performance.now() + intervals.gatewaysMs
  for (;;) {
    const behind = await gatewaysBehind(app.db, { squidId, generation, aliveWithinMs: intervals.gatewaySeenMs })
    if (behind.length === 0) return
    if (performance.now() > endMs) {
      app.log.warn({ squidId, generation, gateways: behind }, 'gateways still lead to the generation before')
      return journal.warn('Not every gateway leads to the new programs yet. The old ones end now.')
    }
    await pause(intervals.pollMs, signal)
  }
}
