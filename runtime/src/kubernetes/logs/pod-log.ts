import { setTimeout as delay } from 'node:timers/promises'
import type { KubeClient, Query } from '../client/kube-client.ts'
import { KubeError } from '../client/kube-error.ts'
import { kinds, objectPath } from '../client/kinds.ts'
import type { Pod } from '../objects/object-types.ts'
import { LineSplitter } from '../../process/lines.ts'
import { statusOf } from '../state/run-record.ts'
import { type LogPosition, type TimedLine, PositionCounter, parseTimedLine } from './log-position.ts'

/** Delay before a log that could not be read is requested again. */
const RETRY_MS = 1000
/** Delay before a log that has ended is requested again: the state of its pod shows the end later than the log. */
const SETTLE_MS = 200

export type PodLogOptions = {
  client: KubeClient
  pod: Pod
  /** Returns the current state of the pod; undefined when it no longer exists. */
  current: () => Pod | undefined
  /** Resolves when the pod may have changed. */
  nextChange: () => Promise<void>
  from: LogPosition
  signal: AbortSignal
  /** Called for each line in order. Resolves when the next one may be read. */
  onLine: (line: TimedLine, position: LogPosition) => Promise<void>
}

/**
 * Reads the log of all runs of a pod until it no longer exists. Lines that kubelet deletes before they are read are lost: it keeps
 * only those of the last two runs, and none after the pod was deleted.
 */
export async function readPodLog(options: PodLogOptions): Promise<void> {
  const { signal, current, nextChange } = options
  let from = options.from
  while (!signal.aborted) {
    const pod = current()
    if (!pod) return
    const restarts = startedRestarts(pod)
    if (restarts === null || restarts < from.restarts) {
      await nextChange()
      continue
    }
    // The run before the current one is still readable.
    if (from.restarts < restarts - 1) from = startOf(restarts - 1)
    const isPrevious = from.restarts < restarts
    const hasEnded = isPrevious || statusOf(pod)?.state?.running === undefined
    const { position, isComplete } = await readRun(options, from, isPrevious)
    if (isComplete && hasEnded) from = startOf(position.restarts + 1)
    else {
      from = position
      await delay(isComplete ? SETTLE_MS : RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
}

const startOf = (restarts: number): LogPosition => ({ restarts, time: '', lines: 0 })

/** The number of restarts of the latest run that has started; null before the first. */
function startedRestarts(pod: Pod): number | null {
  const { state, lastState, restartCount = 0 } = statusOf(pod) ?? {}
  return (state?.running ?? state?.terminated ?? lastState?.terminated) ? restartCount : null
}

/** `isComplete`: the log was read to its end. */
type RunEnd = { position: LogPosition; isComplete: boolean }

async function readRun(options: PodLogOptions, from: LogPosition, isPrevious: boolean): Promise<RunEnd> {
  const { client, pod, signal, onLine } = options
  const counter = new PositionCounter(from)
  let position = from
  const query: Query = {
    container: pod.spec.containers[0]?.name ?? '',
    timestamps: 'true',
    ...(isPrevious ? { previous: 'true' } : { follow: 'true' }),
    // The resolution of `sinceTime` is a second.
    ...(from.time === '' ? {} : { sinceTime: `${from.time.slice(0, 19)}Z` }),
  }
  const readLine = async (text: string) => {
    const line = parseTimedLine(text)
    const next = line && counter.push(line)
    if (!line || !next) return
    await onLine(line, next)
    position = next
  }
  try {
    const { namespace, name } = pod.metadata
    const response = await client.open(`${objectPath(kinds.pod, namespace, name)}/log`, query, signal)
    try {
      const splitter = new LineSplitter()
      for await (const chunk of response) for (const text of splitter.push(chunk as Buffer)) await readLine(text)
      for (const text of splitter.flush()) await readLine(text)
      return { position, isComplete: response.complete }
    } finally {
      response.destroy()
    }
  } catch (error) {
    // The log of the previous run may have been deleted.
    return { position, isComplete: isPrevious && error instanceof KubeError }
  }
}
