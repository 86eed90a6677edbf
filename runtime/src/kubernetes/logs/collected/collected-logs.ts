import type { LogAdmission, LogBatch, LogCursor, LogDrop, LogLine, LogLoss } from '../../../driver.ts'
import { truncateLine } from '../../../process/lines.ts'
import { annotations, namespacePrefix, podContainerName } from '../../names.ts'
import type { ClusterState } from '../../state/cluster-state.ts'
import { containerOf } from '../../state/workload-state.ts'
import { FilePosition } from './file-position.ts'
import { LogGaps } from './log-gaps.ts'
import {
  type FileLine,
  type LogFile,
  type LoggedContainer,
  parseFileLine,
  parseLogPath,
  workloadOfPod,
} from './log-file.ts'
import type { LogListener, SentLines } from './log-listener.ts'
import type { OtlpLine } from './otlp.ts'

export type CollectedLogsOptions = { listener: LogListener; state: ClusterState; installation: string }

const MAX_BATCH_LINES = 10_000
/** Positions of deleted pods are kept for this long, since a collector may send their lines again. */
const KEPT_MS = 24 * 60 * 60 * 1000
/** Interval of the removal of older positions. */
const CLEAN_MS = 60 * 60 * 1000
/** Interval of checks for missing lines. */
const CHECK_MS = 10_000

/** See `Runtime.logs`. Delivers the lines that collectors send. */
export async function* readCollectedLogs(
  options: CollectedLogsOptions,
  from: LogCursor,
  signal: AbortSignal,
  admits: LogAdmission = () => true,
): AsyncIterable<LogBatch> {
  const { listener } = options
  const reader = new LineReader(options, from, admits)
  const queue: SentLines[] = []
  let delivered: SentLines[] = []
  let wake = () => {}
  const wakeUp = () => wake()
  signal.addEventListener('abort', wakeUp)
  const checking = setInterval(wakeUp, CHECK_MS)
  const stopForwarding = listener.forward((sent) => {
    queue.push(sent)
    wake()
  })
  try {
    while (!signal.aborted) {
      if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      delivered = takeBatch(queue)
      const batch = reader.read(delivered.flatMap(({ lines }) => lines))
      if (Object.keys(batch.cursor).length > 0) yield batch
      for (const { accept } of delivered) accept()
      delivered = []
    }
  } finally {
    signal.removeEventListener('abort', wakeUp)
    clearInterval(checking)
    stopForwarding()
    for (const { refuse } of [...delivered, ...queue]) refuse()
  }
}

function takeBatch(queue: SentLines[]): SentLines[] {
  const batch: SentLines[] = []
  for (let lines = 0; queue[0] && lines < MAX_BATCH_LINES; lines += batch.at(-1)?.lines.length ?? 0)
    batch.push(...queue.splice(0, 1))
  return batch
}

/** `source` is null until lines of the run arrive. `usedAtMs`: when the last lines arrived; after a restart, when they were written. */
type RunLog = { position: FilePosition; gaps: LogGaps; source: LoggedContainer | null; usedAtMs: number }

/** Reads lines from the cursor on. Its state counts the last batch as read, so a reader must be discarded if that batch was not stored. */
class LineReader {
  readonly #options: CollectedLogsOptions
  readonly #from: LogCursor
  readonly #admits: LogAdmission
  readonly #startedAt = new Date().toISOString()
  readonly #logs = new Map<string, RunLog>()
  #cleanedAtMs = -Infinity
  #checkedAtMs = -Infinity

  constructor(options: CollectedLogsOptions, from: LogCursor, admits: LogAdmission) {
    this.#options = options
    this.#from = from
    this.#admits = admits
    for (const [key, text] of Object.entries(from)) {
      // A key without `/` is the uid of a pod: a position from reading through the API server, before there was a collector (`#logOf`).
      if (!key.includes('/')) continue
      const position = new FilePosition(text)
      this.#logs.set(key, {
        position,
        gaps: new LogGaps(),
        source: null,
        usedAtMs: Date.parse(position.lastTime) || 0,
      })
    }
  }

  /** Returns the batch of those lines that are new, complete and admitted, in the order of their times. */
  read(lines: OtlpLine[]): LogBatch {
    const batch: LogBatch = { lines: [], dropped: [], cursor: {} }
    const timed: TimedLogLine[] = []
    const nowMs = Date.now()
    const changed = new Map<string, RunLog>()
    for (const { path, offset, text, readAtMs } of lines) {
      const file = parseLogPath(path)
      const line = parseFileLine(text)
      if (!file) continue
      const log = this.#logOf(file)
      if (!log.source) continue
      log.usedAtMs = nowMs
      changed.set(keyOf(file), log)
      const bytes = Buffer.byteLength(text) + 1
      if (!line) log.position.skip(offset, bytes)
      const programLine = line ? log.position.push(line, offset, bytes, readAtMs) : null
      if (!line || programLine === null) continue
      if (this.#isAdmitted(log.source, line, programLine)) timed.push(lineOf(log.source, line, programLine))
      else drop(batch.dropped, log.source)
    }
    // The collector reads a rotated file and the next one at the same time.
    timed.sort((first, second) => (first.time < second.time ? -1 : Number(first.time > second.time)))
    batch.lines = timed.map(({ line }) => line)
    batch.lost = this.#findLost(changed, nowMs)
    for (const [key, { position }] of changed) batch.cursor[key] = position.format()
    this.#evictOld(batch.cursor, nowMs)
    return batch
  }

  /** Returns the periods whose lines have not arrived and will not, and adds their logs to `changed`. */
  #findLost(changed: Map<string, RunLog>, nowMs: number): LogLoss[] {
    if (nowMs - this.#checkedAtMs < CHECK_MS) return []
    this.#checkedAtMs = nowMs
    return [...this.#logs].flatMap(([key, log]) => {
      const { source, gaps, position } = log
      const lost = source === null ? [] : gaps.takeSettled(position, nowMs).map((gap) => ({ ...source, ...gap }))
      if (lost.length > 0) changed.set(key, log)
      return lost
    })
  }

  #isAdmitted({ workload }: LoggedContainer, { time }: FileLine, text: string): boolean {
    return this.#admits({ workload, bytes: Buffer.byteLength(text), isBacklog: time < this.#startedAt })
  }

  #logOf(file: LogFile): RunLog {
    const apiServerPosition = this.#from[file.uid]
    const log = this.#logs.get(keyOf(file)) ?? {
      position:
        apiServerPosition === undefined
          ? new FilePosition(undefined)
          : FilePosition.afterFollowing(apiServerPosition, file.restarts),
      gaps: new LogGaps(),
      source: null,
      usedAtMs: 0,
    }
    log.source ??= this.#sourceOf(file)
    if (log.source) this.#logs.set(keyOf(file), log)
    return log
  }

  /** Returns null for files of other programs in the cluster. */
  #sourceOf({ namespace, pod: name, uid, container }: LogFile): LoggedContainer | null {
    const { state, installation } = this.#options
    if (!namespace.startsWith(namespacePrefix(installation))) return null
    for (const workload of state.workloads) {
      const pod = workload.pods.get(uid)
      if (pod) return { workload: pod.metadata.annotations?.[annotations.workload] ?? '', container: containerOf(pod) }
    }
    // The pod was deleted before its last lines arrived.
    const workload = workloadOfPod(name)
    const desired = workload === null ? undefined : state.findById(workload)?.desired
    const spec = desired?.containers.find((candidate) => podContainerName(candidate.name) === container)
    return workload === null ? null : { workload, container: spec?.name ?? container }
  }

  #evictOld(cursor: LogCursor, nowMs: number): void {
    if (nowMs - this.#cleanedAtMs < CLEAN_MS) return
    this.#cleanedAtMs = nowMs
    const existing = new Set([...this.#options.state.workloads].flatMap(({ pods }) => [...pods.keys()]))
    for (const [key, { usedAtMs }] of this.#logs) {
      if (existing.has(key.split('/')[0] ?? '') || nowMs - usedAtMs < KEPT_MS) continue
      this.#logs.delete(key)
      cursor[key] = ''
    }
  }
}

/** `time`: in nanoseconds, as text. */
type TimedLogLine = { time: string; line: LogLine }

const lineOf = (source: LoggedContainer, { time, stream }: FileLine, text: string): TimedLogLine => ({
  time,
  line: { ...source, stream, text: truncateLine(text), readAt: new Date(`${time.slice(0, 23)}Z`) },
})

const keyOf = ({ uid, restarts }: LogFile): string => `${uid}/${restarts}`

function drop(drops: LogDrop[], { workload, container }: LoggedContainer): void {
  const known = drops.find((other) => other.workload === workload && other.container === container)
  if (known) known.lines++
  else drops.push({ workload, container, lines: 1, isEstimate: false })
}
