import type { ContainerName, WorkloadId } from '../../../driver.ts'
import { parseTimedLine } from '../log-position.ts'

/** A log file of a pod, parsed from its path on the node. `restarts`: the number of the pod's earlier runs. */
export type LogFile = { namespace: string; pod: string; uid: string; container: string; restarts: number }

const PATH = /\/([^/_]+)_([^/_]+)_([^/_]+)\/([^/]+)\/(\d+)\.log(?:\.[^/]*)?$/

/**
 * Parses `/var/log/pods/<namespace>_<pod>_<uid>/<container>/<restarts>.log`, and the same path of a rotated file. Returns null for
 * other paths.
 */
export function parseLogPath(path: string): LogFile | null {
  const [, namespace, pod, uid, container, restarts] = PATH.exec(path) ?? []
  if (!namespace || !pod || !uid || !container) return null
  return { namespace, pod, uid, container, restarts: Number(restarts) }
}

export type Stream = 'stdout' | 'stderr'

/** A line of a log file. `isPartial`: the program's line continues in the next one of the same stream. */
export type FileLine = { time: string; stream: Stream; isPartial: boolean; text: string }

/** Parses `<time> <stream> <tag> <text>`, as container runtimes write each line, in parts of 16 KiB. Returns null for other text. */
export function parseFileLine(line: string): FileLine | null {
  const timed = parseTimedLine(line)
  const [, stream, tag, text] = /^(stdout|stderr) (\S+) ?(.*)$/s.exec(timed?.text ?? '') ?? []
  if (!timed || text === undefined) return null
  return { time: timed.time, stream: stream as Stream, isPartial: tag === 'P', text }
}

/**
 * Returns the workload of a pod that no longer exists, by the pod's name (see `containerObjectName`). Null unless the workload's id
 * has the form `12.3`.
 */
export function workloadOfPod(pod: string): WorkloadId | null {
  const [, version, generation] = /^w(\d+)-(\d+)-[0-9a-f]{8}-[0-9a-f]{10}-/.exec(pod) ?? []
  return version === undefined ? null : `${version}.${generation}`
}

/** The container that wrote a file. */
export type LoggedContainer = { workload: WorkloadId; container: ContainerName }
