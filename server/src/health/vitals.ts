import type { WorkerState } from '../installation/active-worker.ts'

/** The state of the running parts of this process, read on demand. Null for a part that this process does not have. */
export type Vitals = {
  worker: (() => { state: WorkerState; lastObservationMs: number | null }) | null
  /** Time since the gateway last read all its routes, in milliseconds, and any other problem that stops it from working. */
  gateway: (() => { routesReadMs: number; problem: string | null }) | null
}

export const noVitals = (): Vitals => ({ worker: null, gateway: null })
