import type { Timers } from '../clock.ts'
import { KubeError } from './client/kube-error.ts'
import { anchorName } from './names.ts'
import type { WorkloadState } from './state/workload-state.ts'

/** Delay before a request that the cluster refused is sent again. */
const RETRY_MS = 5000

type TaskOptions = {
  timers: Timers
  log: (message: string) => void
  /** Makes the programs of a workload match the desired state. Returns false if it must be called again. */
  reconcile: (workload: WorkloadState) => Promise<boolean>
}

/** Changes workloads in the cluster, each by one task at a time. */
export class WorkloadTasks {
  readonly #options: TaskOptions
  /** The last task of each workload. */
  readonly #tasks = new Map<string, Promise<unknown>>()
  readonly #scheduled = new Set<WorkloadState>()
  readonly #closing = new AbortController()

  constructor(options: TaskOptions) {
    this.#options = options
  }

  /** Aborted by `close`. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Runs a task after those of the same key. */
  enqueue<T>(key: string, task: () => Promise<T>): Promise<T> {
    const running = (this.#tasks.get(key) ?? Promise.resolve()).then(task, task)
    const settled = running.catch(() => undefined)
    this.#tasks.set(key, settled)
    void settled.then(() => this.#tasks.get(key) === settled && this.#tasks.delete(key))
    return running
  }

  /** Reconciles a workload, as part of a task, and again later if the cluster refused it. */
  async reconcile(workload: WorkloadState): Promise<void> {
    const isComplete = await this.#options.reconcile(workload)
    if (!isComplete) this.#options.timers.after(RETRY_MS, () => this.schedule(workload))
  }

  /** Reconciles a workload soon, or runs `work` instead. Retries after errors, since no caller waits for the result. */
  schedule(workload: WorkloadState, work?: () => Promise<void>): void {
    const { timers, log } = this.#options
    if (this.closing.aborted || (!work && this.#scheduled.has(workload))) return
    if (!work) this.#scheduled.add(workload)
    const key = workload.desired ? anchorName(workload.desired.id) : workload.namespace
    this.enqueue(key, async () => {
      if (!work) this.#scheduled.delete(workload)
      if (this.closing.aborted) return
      await (work ? work() : this.reconcile(workload))
    }).catch((error) => {
      if (this.closing.aborted || isOutdated(error)) return
      log(`A change in the cluster failed and will be retried: ${error.message}`)
      timers.after(RETRY_MS, () => this.schedule(workload, work))
    })
  }

  /** Prevents further tasks, and waits for the current ones. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#tasks.values())
  }
}

/** True if the object has changed or no longer exists: the event that reports it leads to another attempt. */
const isOutdated = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 404 || error.status === 409)
