import { gatewaysBehind } from './gateways-store.ts'
import type { StepContext } from './step.ts'
import { pauseOrThrow } from './wait.ts'

/**
 * Waits until every gateway routes to this generation, so that the old one can be removed. Does not wait for gateways without a recent
 * heartbeat: they have stopped, or update their routes when they resume. Logs a warning and returns after `gatewaysMs`.
 */
export async function waitForGateways(
  { app, intervals, journal, signal }: StepContext,
  squidId: number,
  generation: number,
): Promise<void> {
  const timeoutAtMs = performance.now() + intervals.gatewaysMs
  for (;;) {
    const behind = await gatewaysBehind(app.db, { squidId, generation, aliveWithinMs: intervals.maxHeartbeatAgeMs })
    if (behind.length === 0) return
    if (performance.now() > timeoutAtMs) {
      app.log.warn({ squidId, generation, gateways: behind }, 'gateways still route to the previous generation')
      return journal.warn('Some gateways do not route to the new programs yet. The old programs are stopped now.')
    }
    await pauseOrThrow(intervals.pollMs, signal)
  }
}
