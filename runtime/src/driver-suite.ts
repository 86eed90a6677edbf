import { afterEach, beforeEach, describe, expect } from 'vitest'
import type {
  ContainerSpec,
  Directory,
  Endpoint,
  LastRun,
  LogBatch,
  LogCursor,
  Observation,
  Run,
  Runtime,
  Workload,
} from './driver.ts'
import { runTests } from './driver-suite-runs.ts'
import { workloadTests } from './driver-suite-workloads.ts'

/** Behaviour of a test program, implemented by the harness of each driver. */
export type Behaviour = {
  /** Lines to print at the start. */
  print?: string[]
  /** Text to print after them, without a line end. */
  printLast?: string
  /** How it ends then. Default: it runs until it is stopped. */
  ends?: 'never' | 'out of memory' | { exit: number }
}

/** A driver without workloads, and control over its environment. */
export type Harness = {
  runtime: Runtime
  directory: Directory
  /** Opens a directory in another process; or the reason why that is not possible. */
  elsewhere: (() => Promise<Elsewhere>) | string
  image: string
  program(behaviour: Behaviour): Pick<ContainerSpec, 'command' | 'env'>
  /** Advances the clock of the driver (backoff). */
  advance(ms: number): void
  /** Retries `check` until it does not throw. */
  eventually(check: () => Promise<void>): Promise<void>
  /** Kills the server; programs continue. `revive` then starts another one, which replaces `runtime`. */
  kill(): Promise<void>
  revive(): Promise<void>
  /** Another runtime and directory with the same options, not started. */
  unstarted(): { runtime: Runtime; directory: Directory }
  /** False if the host cannot limit memory. */
  enforcesMemory: boolean
  /** Remaining processes, files and sockets of any workload. */
  traces(): Promise<string[]>
  /** Stops and removes everything. */
  dispose(): Promise<void>
}

/** Expected observation of a container. */
export type Expected = Partial<Omit<Observation, 'run' | 'lastRun'>> & {
  run?: Partial<Run> | null
  lastRun?: Partial<LastRun> | null
}

/** A directory in another process than the runtime. */
export type Elsewhere = {
  endpoint(id: string, container: string, port: number): Promise<Endpoint | null>
  /** Changes reported since the last call, as `<workload>/<container>`. */
  changes(): Promise<string[]>
  close(): Promise<void>
}
/** Helpers for the tests of the suite. `host` is opened for each test. */
export type Suite = ReturnType<typeof openSuite>

const MIB = 1024 * 1024

/** Tests the behaviour of a driver that the deploy engine relies on. */
export function driverSuite(name: string, open: () => Promise<Harness>): void {
  describe(`driver ${name}`, () => {
    const suite = openSuite(open)
    runTests(suite)
    workloadTests(suite)
  })
}

function openSuite(open: () => Promise<Harness>) {
  let host: Harness

  beforeEach(async () => {
    host = await open()
  })

  afterEach(() => host.dispose())

  const container = (name: string, behaviour: Behaviour, more: Partial<ContainerSpec> = {}): ContainerSpec => ({
    name,
    resources: { cpuCores: 1, memoryBytes: 256 * MIB },
    restart: 'on-failure',
    ports: [],
    stopGraceMs: 5000,
    ...host.program(behaviour),
    ...more,
  })

  const workload = (containers: ContainerSpec[], more: Partial<Workload> = {}): Workload => ({
    id: 'org-squid-1',
    tenant: 'org',
    version: 'org-squid',
    image: host.image,
    containers,
    ...more,
  })

  const observe = async (container: string, id = 'org-squid-1'): Promise<Observation | undefined> => {
    const all = await host.runtime.observe()
    return all.find((one) => one.workload === id && one.container === container)
  }

  const until = (container: string, expected: Expected, id?: string): Promise<void> =>
    host.eventually(async () => expect(await observe(container, id)).toMatchObject(expected))

  /** Reads the log from `cursor` until it has `enough` lines; advances `cursor`. */
  const read = async (cursor: LogCursor, enough: number): Promise<string[]> => {
    const lines: string[] = []
    const stop = new AbortController()
    const take = (batch: LogBatch) => {
      lines.push(...batch.lines.map((line) => `${line.container}: ${line.text}`))
      Object.assign(cursor, batch.cursor)
      if (lines.length >= enough) stop.abort()
    }
    const reading = (async () => {
      for await (const batch of host.runtime.logs({ ...cursor }, stop.signal)) take(batch)
    })()
    try {
      await host.eventually(async () => expect(lines.length).toBeGreaterThanOrEqual(enough))
    } finally {
      stop.abort()
      await reading
    }
    return lines
  }

  return {
    get host(): Harness {
      return host
    },
    container,
    workload,
    observe,
    until,
    read,
  }
}
