import type { CertificateFact } from '../modules/certificates/index.ts'
import type { WorkerState } from '../installation/active-worker.ts'

/** Functions that read the state of the components of this process; null for a component that it does not have. */
export type ComponentStates = {
  worker: (() => { state: WorkerState; observationAgeMs: number | null }) | null
  /** `routesReadMs`: milliseconds since the gateway last read all its routes. `problem`: any other reason why it does not work. */
  gateway: (() => { routesReadMs: number; problem: string | null }) | null
  /** Returns why the directory cannot find squids yet; null if it can. */
  directory: () => string | null
  /** Reads the state of the certificates of the installation's names. */
  certificates: (() => Promise<CertificateFact[]>) | null
}

/** The states of a process that has none of these components. */
export const noComponentStates = (): ComponentStates => ({
  worker: null,
  gateway: null,
  directory: () => null,
  certificates: null,
})
