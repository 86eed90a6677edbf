import { setTimeout as delay } from 'node:timers/promises'
import type { LogAdmission, LogBatch, LogCursor, LogDrop, LogLine } from '../../driver.ts'
import { truncateLine } from '../../process/lines.ts'
import type { KubeClient } from '../client/kube-client.ts'
import { annotations } from '../names.ts'
import type { Pod } from '../objects/object-types.ts'
import type { ClusterState } from '../state/cluster-state.ts'
import { type WorkloadState, containerOf } from '../state/workload-state.ts'
import { type LogPosition, type TimedLine, formatPosition, parsePosition } from './log-position.ts'
import { readPodLog } from './pod-log.ts'

const MAX_BATCH_LINES = 1000
/** Interval of checks for new lines, new pods and changes of pods. */
const POLL_MS = 200

/** See `Runtime.logs`. Follows the log of each pod through the API server. */
export async function* readClusterLogs(
  { client, state }: { client: KubeClient; state: ClusterState },
  from: LogCursor,
  signal: AbortSignal,
  admits: LogAdmission = () => true,
): AsyncIterable<LogBatch> {
  const ending = new AbortController()
  const stopSignal = AbortSignal.any([signal, ending.signal])
  const reader = new PodLogsReader(client, state, from, stopSignal, admits)
  try {
    while (!stopSignal.aborted) {
      reader.followPods()
      const batch = reader.takeBatch()
      if (batch) yield batch
      else await reader.wait()
    }
  } finally {
    ending.abort()
    await reader.ended()
  }
}

class PodLogsReader {
  readonly #client: KubeClient
  readonly #state: ClusterState
  readonly #from: LogCursor
  readonly #signal: AbortSignal
  readonly #admits: LogAdmission
  readonly #startedAt = new Date().toISOString()
  /** The readers of pods, by uid. */
  readonly #readers = new Map<string, Promise<void>>()
  #batch: LogBatch = { lines: [], dropped: [], cursor: {} }
  readonly #waiting = new Set<() => void>()

  constructor(client: KubeClient, state: ClusterState, from: LogCursor, signal: AbortSignal, admits: LogAdmission) {
    this.#client = client
    this.#state = state
    this.#from = from
    this.#signal = signal
    this.#admits = admits
    const existing = new Set([...state.workloads].flatMap(({ pods }) => [...pods.keys()]))
    for (const uid of Object.keys(from)) if (!existing.has(uid)) this.#batch.cursor[uid] = ''
  }

  /** Starts to read the logs of new pods. */
  followPods(): void {
    for (const workload of this.#state.workloads)
      for (const pod of workload.pods.values()) if (!this.#readers.has(pod.metadata.uid)) this.#follow(workload, pod)
  }

  #follow(workload: WorkloadState, pod: Pod): void {
    const { uid } = pod.metadata
    const reading = readPodLog({
      client: this.#client,
      pod,
      current: () => workload.pods.get(uid),
      nextChange: () => delay(POLL_MS, undefined, { signal: this.#signal }).catch(() => undefined),
      from: parsePosition(this.#from[uid]),
      signal: this.#signal,
      onLine: (line, position) => this.#add(pod, line, position),
    }).finally(() => {
      if (this.#signal.aborted) return
      this.#readers.delete(uid)
      this.#batch.cursor[uid] = ''
      this.#wake()
    })
    this.#readers.set(uid, reading)
  }

  /** Returns the lines that were read since the last call; null if there are none. */
  takeBatch(): LogBatch | null {
    const batch = this.#batch
    if (batch.lines.length + batch.dropped.length + Object.keys(batch.cursor).length === 0) return null
    this.#batch = { lines: [], dropped: [], cursor: {} }
    this.#wake()
    return batch
  }

  /** Waits until there are lines, but no longer than `POLL_MS`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        this.#signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, POLL_MS)
      this.#waiting.add(done)
      this.#signal.addEventListener('abort', done)
    })
  }

  /** Waits until all readers have ended. The signal must have been aborted. */
  async ended(): Promise<void> {
    this.#wake()
    await Promise.allSettled(this.#readers.values())
  }

  async #add(pod: Pod, { time, text }: TimedLine, position: LogPosition): Promise<void> {
    while (this.#batch.lines.length >= MAX_BATCH_LINES && !this.#signal.aborted) await this.wait()
    // A line that is not in a batch must not move the position.
    if (this.#signal.aborted) return
    const workload = pod.metadata.annotations?.[annotations.workload] ?? ''
    const container = containerOf(pod)
    const isAdmitted = this.#admits({ workload, bytes: Buffer.byteLength(text), isBacklog: time < this.#startedAt })
    if (isAdmitted) {
      const readAt = new Date(`${time.slice(0, 23)}Z`)
      this.#batch.lines.push({
        workload,
        container,
        stream: 'stdout',
        text: truncateLine(text),
        readAt,
      } satisfies LogLine)
    } else this.#drop(workload, container)
    this.#batch.cursor[pod.metadata.uid] = formatPosition(position)
    this.#wake()
  }

  #drop(workload: string, container: string): void {
    const known = this.#batch.dropped.find((drop) => drop.workload === workload && drop.container === container)
    if (known) known.lines++
    else this.#batch.dropped.push({ workload, container, lines: 1, isEstimate: false } satisfies LogDrop)
  }

  #wake(): void {
    for (const done of this.#waiting) done()
  }
}
