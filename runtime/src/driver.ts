/**
 * A runtime driver: a `Runtime`, which runs workloads, and a `Directory`, which resolves their ports.
 * Nothing here may assume one host, a shared file system or reading a file a container writes (design section 12).
 */

/** One generation of one version. Two generations of a version may run side by side during an update. */
export type WorkloadId = string

export type ContainerName = string

/** Resource limits of a container. CPU in cores, memory in bytes. */
export type Resources = { cpuCores: number; memoryBytes: number }

/**
 * `never`: runs once (init). `on-failure`: exit 0 is finished, anything else restarts with back-off (a processor, which may have a
 * last block). `always`: exit 0 is an end like any other (api).
 */
export type Restart = 'never' | 'on-failure' | 'always'

export type ContainerSpec = {
  /** `init`, `api`, `api-2` (a further replica) or the processor's own name. */
  name: ContainerName
  command: string[]
  /** The whole environment; the driver adds only what it needs to make the command start (PATH, HOME, NODE_OPTIONS). */
  env: Record<string, string>
  resources: Resources
  restart: Restart
  /** The ports the program listens on; each is reachable through `Directory.endpoint` and in no other way. */
  ports: number[]
  /** Milliseconds from SIGTERM to SIGKILL when it is stopped. A change of it alone replaces no running container. */
  stopGraceMs: number
}

export type Workload = {
  id: WorkloadId
  /** Opaque key of who owns it: files, uids and caches are never shared between two tenants. */
  tenant: string
  /** Opaque key of the version, the same for all generations of it. */
  version: string
  /** What `Builder.build` answered. */
  image: string
  containers: ContainerSpec[]
}

export type ContainerState =
  /** Accepted, its program is not running yet. */
  | 'starting'
  | 'running'
  /** Ended with exit 0 under `on-failure`, or with whatever code under `never`. Will not start again, unless `retry` wants it. */
  | 'finished'
  /** Ended; starts again at `retryAt`. */
  | 'backoff'
  /** Cannot be started (missing command or image), with a `reason`. Retried like a crash. */
  | 'failed'

/** One start of a container's program. */
export type Run = {
  /** Never used twice, on any host. */
  id: string
  /** The number of runs before it in the same container; grows by one with each, so a gap counts the runs between two looks. */
  ordinal: number
  startedAt: Date
  /** The host that runs it; null where there is only one. */
  node: string | null
}

/**
 * `done`: exit code 0, and the container's `restart` accepts that as the end. `error`: any other end by itself, an exit code 0 that
 * is not accepted (`always`, or `retry` was called) included. `oom`: killed for exceeding its memory limit. `evicted`: stopped by the host,
 * no fault of the program. `stopped`: stopped by this driver on request.
 */
export type EndedHow = 'done' | 'error' | 'oom' | 'evicted' | 'stopped'

/** A run that ended. */
export type LastRun = Run & {
  /** 128 + n for signal n; 137 for `oom`; null: its end was not seen. */
  exitCode: number | null
  how: EndedHow
  endedAt: Date
  /** Kills for memory of any process in it; null: not known. */
  oomKills: number | null
}

export type Observation = {
  workload: WorkloadId
  container: ContainerName
  state: ContainerState
  /** Since when it is in this state. */
  since: Date
  /** The current run; null while none is running. */
  run: Run | null
  /** The newest run that ended, for as long as the host remembers it. */
  lastRun: LastRun | null
  retryAt: Date | null
  /** A sentence for users, if there is something to report. */
  reason: string | null
}

/**
 * What a container uses. Counters are of run `run` alone, the newest one, and begin at 0 with it; gauges are of now. Null: unknown,
 * never zero. There is none of a container that has never run.
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
  /** Kills for memory of any process in the run; the kill of a child need not end the run. */
  oomKills: number | null
}

/** One line as the program wrote it, without its line end. Lines beyond 64 KiB are cut and say so. */
export type LogLine = {
  workload: WorkloadId
  container: ContainerName
  /** `stdout` where the two were merged to keep their order. */
  stream: 'stdout' | 'stderr'
  text: string
  readAt: Date
}

/** Where a reader of logs is: opaque to everyone but the driver, JSON-serialisable. Keep the newest, hand it back after a restart. */
export type LogCursor = Record<string, string>

/**
 * `cursor` holds the positions that changed with these lines: merge it into the kept one in the same transaction as the lines.
 * An empty position means that its log is gone for good: the key may be dropped. Asking for the next batch acknowledges this one.
 */
export type LogBatch = { lines: LogLine[]; cursor: LogCursor }

/** How to connect to a port of a container from where the gateway runs. */
export type Endpoint = { kind: 'tcp'; host: string; port: number } | { kind: 'unix'; path: string }

/** What a driver cannot enforce on this host, each a plain sentence an operator reads once at start. */
export type HostLimitation = string

/** The worker's part: runs workloads and reports their state. */
export interface Runtime {
  readonly name: 'process' | 'sim' | 'kubernetes'

  /**
   * True: programs run on this very host, so one worker alone may work here (the server claims the host for it) and only
   * then is `close('stop')` allowed.
   */
  readonly ownsHost: boolean

  /** Adopts what already runs. Called once, before all else but `close`; answers what this host cannot offer. */
  start(): Promise<HostLimitation[]>

  /**
   * Applies the desired state; idempotent. Containers missing from `workload.containers` are stopped, new ones started, changed
   * ones replaced, unchanged ones kept. Resolves when the desired state is recorded, not when programs run.
   */
  apply(workload: Workload): Promise<void>

  /**
   * A finished container has not done its work: its end becomes an `error` with `reason` (a sentence without its full stop),
   * and it restarts after its backoff. Does nothing to one that is not finished any more, is not known, or runs only once.
   */
  retry(id: WorkloadId, container: ContainerName, reason: string): Promise<void>

  /** All containers, as one consistent snapshot. */
  observe(): Promise<Observation[]>

  /** Stops every program of the workload (SIGTERM, then SIGKILL after its `stopGraceMs`) and removes it. Idempotent. */
  remove(id: WorkloadId): Promise<void>

  usage(): Promise<ContainerUsage[]>

  /**
   * Batches of lines after `from`, per container in the order written, for as long as the iterator is consumed.
   * A line is delivered within 200 ms of its writing. Nothing is lost across a restart of the server; disk behind
   * an acknowledged cursor may be freed.
   */
  logs(from: LogCursor, signal: AbortSignal): AsyncIterable<LogBatch>

  /** The last `lines` of a container, oldest first, also after it ended; empty when it is not known. */
  tail(id: WorkloadId, container: ContainerName, lines: number): Promise<string[]>

  /**
   * Lets go. `stop`: ends all containers first; `keep`: they go on and are adopted by the next `start`. Does nothing when it
   * was never started.
   */
  close(containers: 'stop' | 'keep'): Promise<void>
}

/**
 * The half of every role that connects to squids: it says where their ports are. It only reads; any number of directories may
 * be open beside one `Runtime`, in the same process or in others.
 */
export interface Directory {
  /** Called once, before all else but `close`. */
  start(): Promise<void>

  /** Null when the workload, container or port is not known, or the workload is being removed. Cheap: for each request. */
  endpoint(id: WorkloadId, container: ContainerName, port: number): Endpoint | null

  /**
   * Calls back within 1 s when an endpoint came, went or moved, or its program began to listen; also when that may have
   * happened. Returns a function to stop.
   */
  changed(listener: EndpointListener): () => void

  /** Does nothing when it was never started. */
  close(): Promise<void>
}

export type EndpointListener = (id: WorkloadId, container: ContainerName) => void
