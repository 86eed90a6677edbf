import type { LastRun, Restart } from '../../driver.ts'
import type { ContainerStatus, Pod, Terminated } from '../objects/object-types.ts'

/**
 * The runs of a container, stored in the anchor of its workload (the ConfigMap that owns the other objects), since a pod shows only its
 * current and its previous run, and nothing about earlier pods.
 */
export type RunRecord = {
  /** The uid of the pod of these runs. */
  pod: string
  /** The ordinal of the first run of the pod. */
  base: number
  /** The number of the pod's starts whose program never ran, which kubelet counts as restarts, too; missing in records of earlier releases. */
  skipped?: number
  /** The ordinal of the latest run; `base - 1` before the first one of this pod. */
  ordinal: number
  last: StoredRun | null
  /** The number of consecutive finished runs that `retry` has turned into errors. */
  retries: number
  /** Set while a finished container waits for its restart by `retry`. */
  retry: { at: string; reason: string } | null
}

/** A `LastRun` in JSON. */
export type StoredRun = Omit<LastRun, 'startedAt' | 'endedAt'> & { startedAt: string; endedAt: string }

/** The reasons of kubelet for a program that could not be started at all. */
const CANNOT_START = new Set(['StartError', 'ContainerCannotRun', 'RunContainerError'])

export const isStartError = (terminated: Terminated | undefined): boolean => CANNOT_START.has(terminated?.reason ?? '')

const runIdIn = (podUid: string, restarts: number): string => `${podUid}/${restarts}`

export const runId = (pod: Pod, restarts: number): string => runIdIn(pod.metadata.uid, restarts)

export const statusOf = (pod: Pod): ContainerStatus | undefined => pod.status?.containerStatuses?.[0]

/**
 * Returns the record after a change of the container's newest pod. `isStopping`: this driver is stopping the container. `nowIso` is
 * recorded as the end of runs whose end was not observed.
 */
export function nextRecord(
  previous: RunRecord | undefined,
  pod: Pod,
  { restart, isStopping, nowIso }: { restart: Restart; isStopping: boolean; nowIso: string },
): RunRecord {
  const isSamePod = previous?.pod === pod.metadata.uid
  const base = isSamePod ? previous.base : (previous?.ordinal ?? -1) + 1
  const before: RunRecord = isSamePod
    ? previous
    : {
        pod: pod.metadata.uid,
        base,
        ordinal: base - 1,
        last: previous?.last ?? null,
        retries: previous?.retries ?? 0,
        retry: null,
      }
  const status = statusOf(pod)
  if (!status) return before
  const { restartCount, state = {}, lastState = {} } = status
  const runCount = before.ordinal - base + 1
  // While a pod waits for its next start, `lastState` is the end of the latest run, otherwise that of the run before it.
  const lastIndex = state.running || state.terminated ? restartCount - 1 : restartCount
  const failedIndex = isStartError(state.terminated)
    ? restartCount
    : isStartError(lastState.terminated)
      ? lastIndex
      : -1
  const skipped = Math.max(before.skipped ?? 0, failedIndex + 1 - runCount)
  const updated = skipped === 0 ? before : { ...before, skipped }
  const hasBegun = state.running !== undefined || isRun(state.terminated) || isRun(lastState.terminated)
  const ordinal = hasBegun ? Math.max(before.ordinal, base + restartCount - skipped) : before.ordinal
  const end = isRun(state.terminated)
    ? { terminated: state.terminated, restarts: restartCount }
    : isRun(lastState.terminated)
      ? { terminated: lastState.terminated, restarts: lastIndex }
      : null
  if (end === null) return { ...updated, ordinal }
  const id = runId(pod, end.restarts)
  if (before.last?.id === id) return { ...updated, ordinal }
  const last: StoredRun = {
    id,
    ordinal: base + end.restarts - skipped,
    startedAt: end.terminated.startedAt ?? nowIso,
    node: pod.spec.nodeName ?? null,
    exitCode: end.terminated.exitCode,
    endedAt: end.terminated.finishedAt ?? nowIso,
    ...endOf(pod, end.terminated, { restart, isStopping }),
  }
  return { ...updated, ordinal, last }
}

/** Returns the record of a container whose pod disappeared before the end of its run was observed. */
export function recordOfLostPod(record: RunRecord, pod: Pod, isStopping: boolean, nowIso: string): RunRecord {
  const running = statusOf(pod)?.state?.running
  if (!running || record.pod !== pod.metadata.uid || record.last?.id === latestRunId(record)) return record
  const how = isStopping ? 'stopped' : 'evicted'
  const observed = { startedAt: running.startedAt, node: pod.spec.nodeName ?? null, how } as const
  return { ...record, last: unobservedEnd(record, observed, nowIso) }
}

/**
 * Returns the latest run with an end that was not observed, since its pod disappeared while no worker ran; null if its end is known,
 * or if there was no run.
 */
export function vanishedRun(record: RunRecord, nowIso: string): StoredRun | null {
  if (record.ordinal < record.base || record.last?.ordinal === record.ordinal) return null
  return unobservedEnd(record, { startedAt: nowIso, node: null, how: 'evicted' }, nowIso)
}

/** The id of the record's latest run. */
const latestRunId = ({ pod, ordinal, base, skipped = 0 }: RunRecord): string => runIdIn(pod, ordinal - base + skipped)

/** Returns the latest run with an end that was not observed. */
const unobservedEnd = (
  record: RunRecord,
  observed: Pick<StoredRun, 'startedAt' | 'node' | 'how'>,
  nowIso: string,
): StoredRun => ({
  id: latestRunId(record),
  ordinal: record.ordinal,
  ...observed,
  endedAt: nowIso,
  exitCode: null,
  oomKills: null,
})

/**
 * True if the cluster stopped the latest run, for example to drain its host. Regardless of its exit code, the program has not finished its
 * work: some programs end with 0 after SIGTERM.
 */
export const wasInterrupted = (record: RunRecord | undefined): boolean =>
  record?.last?.how === 'evicted' && record.last.ordinal === record.ordinal

/** Converts a stored run to the type of the driver's interface. */
export const lastRunOf = ({ startedAt, endedAt, ...run }: StoredRun): LastRun => ({
  ...run,
  startedAt: new Date(startedAt),
  endedAt: new Date(endedAt),
})

const isRun = (terminated: Terminated | undefined): terminated is Terminated =>
  terminated !== undefined && !isStartError(terminated)

function endOf(
  pod: Pod,
  terminated: Terminated,
  { restart, isStopping }: { restart: Restart; isStopping: boolean },
): Pick<LastRun, 'how' | 'oomKills'> {
  const { kills, survived } = oomKillsOf(terminated)
  if (terminated.exitCode !== 0 && kills > survived) return { how: 'oom', oomKills: kills }
  if (isStopping) return { how: 'stopped', oomKills: kills }
  if (pod.metadata.deletionTimestamp !== undefined || isDisrupted(pod)) return { how: 'evicted', oomKills: kills }
  const isDone = terminated.exitCode === 0 && restart !== 'always'
  return { how: isDone ? 'done' : 'error', oomKills: kills }
}

/**
 * Reads the number of kills, and how many of them did not end the run, from the message that the image's init writes after a kill.
 * Without a message, kubelet reports only whether there was a kill.
 */
function oomKillsOf({ reason, exitCode, message = '' }: Terminated): { kills: number; survived: number } {
  const count = (name: string) => {
    const [, digits] = new RegExp(`"${name}":\\s*(\\d+)`).exec(message) ?? []
    return digits === undefined ? null : Number(digits)
  }
  const kills = count('oomKills') ?? (reason === 'OOMKilled' ? 1 : 0)
  // The init of earlier images does not count the kills that a run has survived.
  return { kills, survived: count('survived') ?? (exitCode === 137 ? 0 : kills) }
}

/** True if the cluster ended the pod: its host was drained, or had too little memory or disk. */
const isDisrupted = ({ status }: Pod): boolean =>
  status?.reason === 'Evicted' ||
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'DisruptionTarget' && value === 'True')
