/**
 * A runtime driver: a `Runtime`, which runs workloads, and a `Directory`, which resolves their ports.
 * The interface must not assume a single host, a shared file system, or access to files that containers write.
 */
import type { ContainerName, Workload, WorkloadId } from './workload.ts'

export type * from './workload.ts'

/** The drivers, with where each of them runs squids, for operators. The server's `squid-backend.ts` creates them. */
export const drivers = {
  process: 'as processes on this host',
  sim: 'only simulated (demos, tests)',
  kubernetes: 'as pods of a cluster (see `docs/kubernetes.md`)',
} as const
export type DriverName = keyof typeof drivers

export type ContainerState =
  /** Accepted; its program is not running yet. */
  | 'starting'
  | 'running'
  /** Ended with exit code 0 under `on-failure`, or with any code under `never`. Not restarted, except by `retry`. */
  | 'finished'
  /** Ended; restarts at `retryAt`. */
  | 'backoff'
  /** Cannot be started (missing command or image), with a `reason`. Retried like a crash. */
  | 'failed'

/** One start of a container's program. */
export type Run = {
  /** Unique across all hosts, and never reused. */
  id: string
  /** The number of earlier runs of the same container, so gaps between observed ordinals reveal missed runs. */
  ordinal: number
  startedAt: Date
  /** The host of the run; null if the driver has only one. */
  node: string | null
}

/**
 * `done`: exit code 0, accepted by the container's `restart`. `error`: it ended on its own in any other way,
 * including exit code 0 that is not accepted (`always`, or `retry` was called). `oom`: killed for exceeding its memory limit.
 * `evicted`: stopped by the host, not because of the program. `stopped`: stopped by this driver on request.
 */
export type RunOutcome = 'done' | 'error' | 'oom' | 'evicted' | 'stopped'

/** A run that ended. */
export type LastRun = Run & {
  /** 128 + n for signal n; 137 for `oom`; null: the end was not observed. */
  exitCode: number | null
  how: RunOutcome
  endedAt: Date
  /** Out-of-memory kills of any process in the run; null: unknown. */
  oomKills: number | null
}

export type Observation = {
  workload: WorkloadId
  container: ContainerName
  state: ContainerState
  /** The time at which the container entered this state. */
  since: Date
  /** The current run; null while none is running. */
  run: Run | null
  /** The last run that ended, as long as the host has a record of it. */
  lastRun: LastRun | null
  retryAt: Date | null
  /** A sentence for users; null if there is nothing to report. */
  reason: string | null
  /** When the program ran out of disk space for its files; null while it has space, or if unknown. */
  diskFullSince: Date | null
  /** When its host stopped responding; the program may still run there. Null while the host responds. */
  hostLostSince: Date | null
}

/**
 * Resource usage of a container that has run at least once. Counters start at 0 with each run; `run` is the latest one. Gauges are
 * current values. Null means unknown, never zero.
 */
export type ContainerUsage = {
  workload: WorkloadId
  container: ContainerName
  run: string
  at: Date
  cpuSeconds: number | null
  throttledSeconds: number | null
  memoryBytes: number
  memoryLimitBytes: number
  cpuLimitCores: number
  /** Out-of-memory kills of any process in the run. The run may survive the kill of a child process. */
  oomKills: number | null
}

/** One line as the program wrote it, without the line break. Lines longer than 64 KiB are truncated, and end with a notice. */
export type LogLine = {
  workload: WorkloadId
  container: ContainerName
  /** `stdout` if both streams were merged to keep their order. */
  stream: 'stdout' | 'stderr'
  text: string
  readAt: Date
}

/** The position of a log reader: JSON that only the driver interprets. Store the latest one and pass it to `logs` after a restart. */
export type LogCursor = Record<string, string>

/** Lines that were not delivered because the caller's `admits` refused them. `isEstimate`: `lines` was not counted exactly. */
export type LogDrop = { workload: WorkloadId; container: ContainerName; lines: number; isEstimate: boolean }

/**
 * Lines of a period that were lost before the driver could read them. `from` null: from the start of the run. `isCertain` false: the
 * program may have written nothing in this period.
 */
export type LogLoss = {
  workload: WorkloadId
  container: ContainerName
  from: Date | null
  to: Date
  isCertain: boolean
}

/**
 * `cursor` contains the positions that changed with these lines: merge it into the stored one in the same transaction as the lines.
 * An empty position means that its log was deleted, so the key may be dropped. Requesting the next batch acknowledges this one.
 */
export type LogBatch = { lines: LogLine[]; dropped: LogDrop[]; lost?: LogLoss[]; cursor: LogCursor }

/**
 * Returns whether the next line of a workload may be delivered; called once for each line, in order. `isBacklog`: the line was
 * written before this reader started. After a refusal, the driver drops what the container has written up to that moment, at a
 * small, bounded cost.
 */
export type LogAdmission = (line: { workload: WorkloadId; bytes: number; isBacklog: boolean }) => boolean

/** How the gateway connects to a port of a container. */
export type PortEndpoint = { kind: 'tcp'; host: string; port: number } | { kind: 'unix'; path: string }

/** A protection that the driver cannot enforce on this host, as a sentence for operators, logged once at startup. */
export type HostLimitation = string

/** The worker's interface: runs workloads and reports their state. */
export interface Runtime {
  readonly name: 'process' | 'sim' | 'kubernetes'

  /**
   * True: programs run on the worker's own host, so only one worker may be active on it (the server claims the host), and
   * `close('stop')` is allowed.
   */
  readonly ownsHost: boolean

  /**
   * True: programs use the network of their host without restrictions, so they reach its services and each other. Known when
   * `start` has resolved.
   */
  readonly sharesNetwork: boolean

  /** Adopts running containers. Called once, before all other methods except `close`. Resolves with the limitations of this host. */
  start(): Promise<HostLimitation[]>

  /**
   * Applies the desired state; idempotent. Containers missing from `workload.containers` are stopped, new ones started, changed
   * ones replaced, unchanged ones kept. Resolves when the desired state is recorded, not when programs run.
   */
  apply(workload: Workload): Promise<void>

  /**
   * Restarts a finished container whose work is not complete, after a backoff: its last run becomes an `error` with `reason` (a
   * sentence without its full stop). Does nothing if the container is unknown, no longer finished, or runs only once.
   */
  retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void>

  /**
   * Returns all containers as one consistent snapshot. An `on-failure` container is missing if the host has lost all records of it, for
   * example a cluster restored from a backup: the driver starts its program again only at the next `apply`, because the lost run may
   * still write. With `workloads`, it returns only their containers, in a time that does not depend on the number of others.
   */
  observe(workloads?: readonly WorkloadId[]): Promise<Observation[]>

  /**
   * Informs the driver of the workload that the caller last applied, without applying it again. Called after `start`. A host that was
   * restored from a backup may have an earlier desired state of an `on-failure` container; `observe` then omits the container until
   * the next `apply`. Drivers whose hosts are restored only together with the caller's records do not have this method.
   */
  recall?(workload: Workload): void

  /**
   * Abandons the programs of a container on hosts that do not respond, so that the container can start on another host, as last applied.
   * The caller has made sure that these programs can no longer write to the version's data.
   */
  abandon(id: WorkloadId, container: ContainerName): Promise<void>

  /** Stops every program of the workload (SIGTERM, then SIGKILL after its `stopGraceMs`) and removes it. Idempotent. */
  remove(id: WorkloadId): Promise<void>

  /** Lists the tenants that have resources in the runtime, even without workloads. */
  tenants(): Promise<string[]>
  /** Removes the resources of a deleted tenant. Idempotent. */
  removeTenant(tenant: string): Promise<void>

  /** Measures every container that has run at least once. */
  usage(): Promise<ContainerUsage[]>

  /**
   * Yields batches of lines after `from`, in the order written within each container, until the caller stops iterating or `signal` is
   * aborted. Delivers a line within 200 ms after it was written. No line is lost when the server restarts, except those that
   * `admits` refuses (default: none); the disk space of acknowledged lines may be freed.
   */
  logs(from: LogCursor, signal: AbortSignal, admits?: LogAdmission): AsyncIterable<LogBatch>

  /** Returns the last `lines` lines of a container, oldest first, even after it has ended; empty if the container is unknown. */
  tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]>

  /**
   * Stops managing containers. `stop`: ends them all first; `keep`: they continue and are adopted by the next `start`. Does nothing
   * if the runtime was never started.
   */
  close(containers: 'stop' | 'keep'): Promise<void>
}

/**
 * The interface for every role that connects to squids: resolves the ports of containers. A directory only reads, so any number of
 * directories may be open along with one `Runtime`, in the same process or in others.
 */
export interface Directory {
  /** Called once, before all other methods except `close`. */
  start(): Promise<void>

  /**
   * Resolves a port; null if the workload, container or port is unknown, or the workload is being removed. Cheap enough to call for
   * each request.
   */
  endpoint(id: WorkloadId, container: ContainerName, port: number): PortEndpoint | null

  /**
   * Calls `listener` within a second after an endpoint was added, removed or moved, or its program started listening, or when one of
   * these events may have occurred. Returns a function that removes the listener.
   */
  changed(listener: EndpointListener): () => void

  /** Returns why the directory does not know the endpoints yet; null if it does. Missing in directories that always know them. */
  problem?(): string | null

  /** Does nothing if the directory was never started. */
  close(): Promise<void>
}

export type EndpointListener = (id: WorkloadId, container: ContainerName) => void
