import type { Deployment, DeploymentStatus } from '@shoal/contract'
import { isInProgress } from '@shoal/contract'

export type TimelineStep = {
  status: DeploymentStatus
  state: 'done' | 'running' | 'failed' | 'waiting' | 'skipped'
  startedAt: string | null
  /** Null while it runs, and for one that has not begun. */
  elapsedMs: number | null
}

/** All steps of a deployment in order: what it has done, where it is or ended, and what is to come. */
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
