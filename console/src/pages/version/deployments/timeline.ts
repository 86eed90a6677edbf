import type { Deployment, DeploymentStatus } from '@shoal/contract'
import { isInProgress } from '@shoal/contract'

export type TimelineStep = {
  status: DeploymentStatus
  state: 'done' | 'running' | 'failed' | 'waiting' | 'skipped'
  startedAt: string | null
  /** Null before the step starts and while it runs. */
  elapsedMs: number | null
}

/** All steps of a deployment, in order: the finished ones, the current or failed one, and those that did not start. */
export function timelineOf(deployment: Pick<Deployment, 'status' | 'failed' | 'steps' | 'plan'>): TimelineStep[] {
  const { steps, plan } = deployment
  const isRunning = isInProgress(deployment)
  const startedSteps = steps.map(({ status, startedAt, elapsedMs }, index): TimelineStep => {
    const isLast = index === steps.length - 1
    const lastState = isRunning ? 'running' : deployment.failed === 'NO' ? 'done' : 'failed'
    const isFinished = !isLast || (lastState === 'running' && elapsedMs !== null)
    return { status, startedAt, elapsedMs, state: isFinished ? 'done' : lastState }
  })
  const startedStatuses = new Set(steps.map(({ status }) => status))
  const upcoming = plan
    .filter((status) => !startedStatuses.has(status))
    .map((status): TimelineStep => ({
      status,
      startedAt: null,
      elapsedMs: null,
      state: isRunning ? 'waiting' : 'skipped',
    }))
  return [...startedSteps, ...upcoming]
}
