import type { DeploymentStatus } from '@shoal/contract'
import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { SquidRow } from '../versions/index.ts'
import type { Journal } from './journal.ts'
import type { EngineContext } from './settle.ts'
import type { DeploymentRow } from './store.ts'
import type { DeploymentNotes } from './tables.ts'

/** How long the engine waits between looks and for things to calm down. Real time; tests make it short. */
export type EngineIntervals = {
  /** Between two looks at containers. */
  pollMs: number
  /** Between two looks for deployments nobody was told of. */
  sweepMs: number
  /** Between two rounds of the reconcile loop. */
  reconcileMs: number
  /** Before a failed step is tried again. */
  retryMs: number
  /** The longest that the old generation goes on for gateways that do not lead to the new one yet. */
  gatewaysMs: number
  /** A gateway that was not seen for so long is not waited for. */
  gatewaySeenMs: number
  /** Then, before the old generation ends: answers in flight finish. */
  drainMs: number
  /** How long all programs must have answered before an old generation is given up for them. */
  healthyForMs: number
  /** The same when there is no old one to lose. */
  firstHealthyForMs: number
  /** How long a processor without metrics must run. */
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

/** What a step is given. */
export type StepContext = {
  app: WorkerApp
  intervals: EngineIntervals
  engine: EngineContext
  org: { id: number; code: string; isPlayground: boolean }
  /** As of now: replaced when notes are added. */
  deployment: DeploymentRow
  journal: Journal
  /** Hides what no log may hold, in a text that is cut before the journal sees it. */
  redact: (text: string) => Promise<string>
  /** Aborted at the step's deadline, and when this worker must let go; the same as in `engine`. */
  signal: AbortSignal
  /** True when an earlier worker may have begun this step. */
  isResumed: boolean
  /** @throws Superseded */
  note: (notes: DeploymentNotes) => Promise<void>
  /** @throws Error when it is gone */
  squid: () => Promise<SquidRow>
  /**
   * Does `work` in one transaction in which the deployment is still this worker's: every write of a step but `note`.
   * @throws Superseded
   */
  change: <T>(work: (tx: Db) => Promise<T>) => Promise<T>
  /** Starts the step's time when it has left a queue; once, however often the step is run again. */
  restartDeadline: (ms: number) => Promise<void>
}

/** One step of a deployment. It may be cut off anywhere and is then run again from its beginning, maybe by another worker. */
export type Step = {
  status: DeploymentStatus
  /** What it does, to say when it took too long. */
  doing: string
  deadlineMs: (app: WorkerApp) => number
  run: (context: StepContext) => Promise<void>
}
