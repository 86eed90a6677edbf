import { afterEach, beforeEach, describe, expect } from 'vitest'
import type {
  ContainerSpec,
  Directory,
  PortEndpoint,
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
  /** How the program then ends. Default: it runs until it is stopped. */
  ends?: 'never' | 'out of memory' | { exit: number }
}

/**
 * What some tests need, but not every driver supports.
 * - `controllable clock`: tests set the clock with `advance`, and the delays before restarts are exactly 1, 2, 4 … seconds
 * - `usage of ended programs`: usage is known as soon as a program starts, and remains known after it has ended
 * - `logs of removed programs`: lines of a program can be read after its workload was removed
 * - `missing commands`: a command that does not exist is found before the program starts
 * - `stops programs`: `close('stop')` is allowed
 */
export type Capability =
  'controllable clock' | 'usage of ended programs' | 'logs of removed programs' | 'missing commands' | 'stops programs'

/** A driver without workloads, and the means to control its environment. */
export type Harness = {
  /** The capabilities that the driver lacks, each with the reason. Tests that need one are skipped for that reason. */
  lacks: Partial<Record<Capability, string>>
  /** The number of consecutive crashes that a test may wait for, since each delay may be twice as long as the previous one. */
  maxCrashes: number
  /** True if `Run.node` is set. */
  hasNodes: boolean
  runtime: Runtime
  directory: Directory
  /** Opens a directory in another process; a string is the reason why the driver cannot. */
  openRemoteDirectory: (() => Promise<RemoteDirectory>) | string
  image: string
  /** The name of an image that does not exist. */
  missingImage: string
  program(behaviour: Behaviour): Pick<ContainerSpec, 'command' | 'env'>
  /** Advances the clock of the driver (backoff). */
  advance(ms: number): void
  /** Retries `check` until it does not throw. */
  eventually(check: () => Promise<void>): Promise<void>
  /** Simulates a killed server: its programs continue. `restart` then starts another server, which replaces `runtime`. */
  kill(): Promise<void>
  restart(): Promise<void>
  /** Creates another runtime and directory with the same options, without starting them. */
  unstarted(): { runtime: Runtime; directory: Directory }
  /** False if the host cannot limit memory. */
  enforcesMemory: boolean
  /** Lists the remaining processes, files and sockets of any workload. */
  leftovers(): Promise<string[]>
  /** Stops and removes everything. */
  dispose(): Promise<void>
}

/** Expected observation of a container. */
export type Expected = Partial<Omit<Observation, 'run' | 'lastRun'>> & {
  run?: Partial<Run> | null
  lastRun?: Partial<LastRun> | null
}

/** A directory in a different process from the runtime. */
export type RemoteDirectory = {
  endpoint(id: string, container: string, port: number): Promise<PortEndpoint | null>
  /** Changes reported since the last call, as `<workload>/<container>`. */
  changes(): Promise<string[]>
  close(): Promise<void>
}

/** Helpers for the tests of the suite. A new `host` is opened for each test. */
export type Suite = ReturnType<typeof openSuite>

const MIB = 1024 * 1024

/** The delays of a driver after the first consecutive crashes. */
const crashDelaysMs = [1000, 2000, 4000]

/** Declares the tests of the behaviour that the deploy engine expects of a driver. */
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

  const container = (name: string, behaviour: Behaviour, overrides: Partial<ContainerSpec> = {}): ContainerSpec => ({
    name,
    resources: { cpuCores: 1, memoryBytes: 256 * MIB },
    restart: 'on-failure',
    ports: [],
    stopGraceMs: 5000,
    ...host.program(behaviour),
    ...overrides,
  })

  const workload = (containers: ContainerSpec[], overrides: Partial<Workload> = {}): Workload => ({
    id: 'org-squid-1',
    tenant: 'org',
    version: 'org-squid',
    image: host.image,
    containers,
    ...overrides,
  })

  const observe = async (container: string, id = 'org-squid-1'): Promise<Observation | undefined> => {
    const observations = await host.runtime.observe()
    return observations.find((observation) => observation.workload === id && observation.container === container)
  }

  const until = (container: string, expected: Expected, id?: string): Promise<void> =>
    host.eventually(async () => expect(await observe(container, id)).toMatchObject(expected))

  /** Reads at least `count` lines of the log from `cursor`, and advances `cursor`. Calls `whileWaiting` before each retry. */
  const read = async (cursor: LogCursor, count: number, whileWaiting = () => {}): Promise<string[]> => {
    const lines: string[] = []
    const controller = new AbortController()
    const append = (batch: LogBatch) => {
      lines.push(...batch.lines.map((line) => `${line.container}: ${line.text}`))
      Object.assign(cursor, batch.cursor)
      if (lines.length >= count) controller.abort()
    }
    const reading = (async () => {
      for await (const batch of host.runtime.logs({ ...cursor }, controller.signal)) append(batch)
    })()
    try {
      await host.eventually(async () => {
        if (lines.length < count) whileWaiting()
        expect(lines.length).toBeGreaterThanOrEqual(count)
      })
    } finally {
      controller.abort()
      await reading
    }
    return lines
  }

  /** Skips the test if the driver lacks the capability. */
  const need = (capability: Capability, skip: (reason: string) => never): void => {
    const reason = host.lacks[capability]
    if (reason !== undefined) skip(`${capability}: ${reason}`)
  }

  /** Waits until the runtime observes no container for which `matches` returns true. */
  const untilRemoved = (matches: (observation: Observation) => boolean): Promise<void> =>
    host.eventually(async () => expect((await host.runtime.observe()).filter(matches)).toEqual([]))

  return {
    need,
    untilRemoved,
    crashDelays: () => crashDelaysMs.slice(0, host.maxCrashes),
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
