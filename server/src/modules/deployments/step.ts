import type { DeploymentStatus } from '@shoal/contract'
import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { SquidRow } from '../versions/index.ts'
import type { Journal } from './journal.ts'
import type { EngineContext } from './reconcile-version.ts'
import type { DeploymentRow } from './store.ts'
import type { DeploymentNotes } from './tables.ts'

/**
 * Intervals and timeouts of the engine; tests shorten them. `healthyForMs`, `firstHealthyForMs` and `minUptimeMs` are measured with
 * `app.clock`, the others in real time.
 */
export type EngineIntervals = {
  /** The delay between two observations of containers. */
  pollMs: number
  /** The interval of sweeps for deployments whose notification was lost. */
  sweepMs: number
  /** The interval between two rounds of the reconcile loop. */
  reconcileMs: number
  /** The delay before a failed step is retried. */
  retryMs: number
  /** The timeout of the wait for gateways that do not route to the new generation yet. */
  gatewaysMs: number
  /** Deployments do not wait for gateways without a heartbeat for this long. */
  maxHeartbeatAgeMs: number
  /** The delay between the switch of the gateways and the removal of the old generation, so that responses in flight can finish. */
  drainMs: number
  /** How long all programs must respond before the old generation is removed. */
  healthyForMs: number
  /** How long all programs must respond when there is no old generation. */
  firstHealthyForMs: number
  /** How long a processor without metrics must have been running. */
  minUptimeMs: number
}

export const defaultIntervals: EngineIntervals = {
  pollMs: 50,
  sweepMs: 1_000,
  reconcileMs: 3_000,
  retryMs: 1_000,
  gatewaysMs: 60_000,
  maxHeartbeatAgeMs: 15_000,
  drainMs: 2_000,
  healthyForMs: 1_500,
  firstHealthyForMs: 200,
  minUptimeMs: 8_000,
}

/** The input of a step. */
export type StepContext = {
  app: WorkerApp
  intervals: EngineIntervals
  engine: EngineContext
  org: { id: number; code: string; isPlayground: boolean }
  /** The current row. Each write of the row replaces it. */
  deployment: DeploymentRow
  journal: Journal
  /** Redacts text before it is cut. The journal redacts only later, and would not find half a secret. */
  redact: (text: string) => Promise<string>
  /** Aborted at the step's deadline, and when this worker must release the deployment; the same as in `engine`. */
  signal: AbortSignal
  /** Whether the step may have begun before: by an earlier worker, or in an attempt that failed. */
  isResumed: boolean
  /** Merges the notes into those on the row. @throws SupersededError */
  saveNotes: (notes: DeploymentNotes) => Promise<void>
  /** Reads the row of the version. @throws Error when the version no longer exists */
  squid: () => Promise<SquidRow>
  /**
   * Runs `work` in a transaction that holds the claim on the deployment. Steps use it for all writes except notes.
   * @throws SupersededError
   */
  inClaimedTransaction: <T>(work: (tx: Db) => Promise<T>) => Promise<T>
  /** Restarts the step's deadline, when its work has left a queue. Only the first call has an effect. */
  restartDeadline: (ms: number) => Promise<void>
}

/** A step of a deployment. It can be interrupted at any point and is then run again from its beginning, possibly by another worker. */
export type Step = {
  status: DeploymentStatus
  /** A description of the work, such as `Building the image`, for the message of a missed deadline. */
  activity: string
  deadlineMs: (app: WorkerApp) => number
  run: (context: StepContext) => Promise<void>
}
