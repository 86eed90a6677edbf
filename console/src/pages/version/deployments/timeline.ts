import type { Deployment, DeploymentStatus } from '@shoal/contract'
import { isInProgress } from '@shoal/contract'

export type TimelineStep = {
  status: DeploymentStatus
  state: 'done' | 'running' | 'failed' | 'waiting' | 'skipped'
  startedAt: string | null
  /** Null while the step runs or before it starts. */
  elapsedMs: number | null
}

/** All steps of a deployment in order: finished, current or failed, and upcoming. */
export function timelineOf(deployment: Pick<Deployment, 'status' | 'failed' | 'steps' | 'plan'>): TimelineStep[] {
  const { steps, plan } = deployment
  const isRunning = isInProgress(deployment)
  const begun = steps.map(({ status, startedAt, elapsedMs }, index): TimelineStep => {
    const isLast = index === steps.length - 1
    const open = isRunning ? 'running' : deployment.failed === 'NO' ? 'done' : 'failed'
    return { status, startedAt, elapsedMs, state: isLast && (open !== 'running' || elapsedMs === null) ? open : 'done' }
  })
  const started = new Set(steps.map(({ status }) => status))
  const upcoming = plan
    .filter((status) => !started.has(status))
    .map((status): TimelineStep => ({
      status,
      startedAt: null,
      elapsedMs: null,
      state: isRunning ? 'waiting' : 'skipped',
    }))
  return [...begun, ...upcoming]
}
