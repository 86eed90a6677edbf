import type { DeploymentStatus } from '@shoal/contract'
import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { SquidRow } from '../versions/index.ts'
import type { Journal } from './journal.ts'
import type { EngineContext } from './reconcile-version.ts'
import type { DeploymentRow } from './store.ts'
import type { DeploymentNotes } from './tables.ts'

/** Intervals and timeouts of the engine, in real time; tests shorten them. */
export type EngineIntervals = {
  /** Between two observations of containers. */
  pollMs: number
  /** Between two sweeps for deployments whose notification was lost. */
  sweepMs: number
  /** Between two rounds of the reconcile loop. */
  reconcileMs: number
  /** Before a failed step is retried. */
  retryMs: number
  /** Longest wait for gateways that do not route to the new generation yet. */
  gatewaysMs: number
  /** Gateways without a heartbeat for this long are not waited for. */
  gatewaySeenMs: number
  /** After the gateways have switched, before the old generation is removed, so that responses in flight can finish. */
  drainMs: number
  /** How long all programs must respond before the old generation is removed. */
  healthyForMs: number
  /** The same when there is no old generation. */
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
  gatewaySeenMs: 15_000,
  drainMs: 2_000,
  healthyForMs: 1_500,
  firstHealthyForMs: 200,
  minUptimeMs: 8_000,
}

/** Input of a step. */
export type StepContext = {
  app: WorkerApp
  intervals: EngineIntervals
  engine: EngineContext
  org: { id: number; code: string; isPlayground: boolean }
  /** The current row: replaced when notes are added. */
  deployment: DeploymentRow
  journal: Journal
  /** Redacts a text that is cut before the journal redacts it. */
  redact: (text: string) => Promise<string>
  /** Aborted at the step's deadline, and when this worker must release the deployment; the same as in `engine`. */
  signal: AbortSignal
  /** True when an earlier worker may have begun this step. */
  isResumed: boolean
  /** @throws SupersededError */
  note: (notes: DeploymentNotes) => Promise<void>
  /** @throws Error when it no longer exists */
  squid: () => Promise<SquidRow>
  /**
   * Runs `work` in a transaction that holds the claim on the deployment: every write of a step but `note`.
   * @throws SupersededError
   */
  change: <T>(work: (tx: Db) => Promise<T>) => Promise<T>
  /** Starts the step's time when it has left a queue; only the first call has an effect. */
  restartDeadline: (ms: number) => Promise<void>
}

/** One step of a deployment. It can be interrupted at any point and is then run again from its beginning, possibly by another worker. */
export type Step = {
  status: DeploymentStatus
  /** The action in words, for the message of a missed deadline. */
  doing: string
  deadlineMs: (app: WorkerApp) => number
  run: (context: StepContext) => Promise<void>
}
