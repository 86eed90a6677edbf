import type { WorkerState } from '../installation/active-worker.ts'

/** What the parts of this process tell of themselves while they run; null: this process has no such part. */
export type Vitals = {
  worker: (() => { state: WorkerState; lastObservationMs: number | null }) | null
  /** How long ago the gateway last read all its routes, in milliseconds, and what else keeps it from its work. */
  gateway: (() => { routesReadMs: number; problem: string | null }) | null
}

export const noVitals = (): Vitals => ({ worker: null, gateway: null })
