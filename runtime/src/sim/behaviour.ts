import type { ContainerSpec, Workload } from '../driver.ts'
import { type ShapeCheck, fields, lines, number, oneOf, text } from './shape.ts'

/** Behaviour of a simulated program. Without `ends` it runs until it is stopped. Times are in milliseconds. */
export type SimBehaviour = {
  /** Delay before the program runs. */
  startMs?: number
  /** Reason to report because the program never starts. */
  cannotStart?: string
  /** Lines to print at the start. */
  print?: string[]
  /** Text to print after these lines, without a line end. */
  printLast?: string
  /** A line to print periodically; `{n}` is replaced by a counter. */
  periodicOutput?: { everyMs: number; text: string }
  ends?: { afterMs: number; exitCode: number } | { afterMs: number; outOfMemory: true }
  /** Number of runs to which `ends` applies; later runs do not end. */
  endingRuns?: number
  /** Indexing progress of a processor. */
  sync?: SimSync
  usage?: SimUsage
  /** Response of an api to every request, instead of GraphQL. */
  response?: { status: number; text: string }
  /** False: the program runs, but does not listen on its ports. Default: true. */
  listens?: boolean
  /** True: the server of the program runs in another process, so that measurements of Shoal do not include it. Its clock is the system's. */
  isServedSeparately?: boolean
}

/** How a processor indexes the blocks of its chain. */
export type SimSync = {
  fromBlock: number
  /** The chain's height at the start of the run, and its growth. */
  headBlock: number
  headBlocksPerSecond: number
  blocksPerSecond: number
  /** The processor stops at this block without an error. */
  stallsAtBlock?: number
  /** Last block of the processor. It then exits with 0, and reports at its next start that it has nothing to do. */
  toBlock?: number
  /** Periodic requests to an RPC node that fails in a time range of the run. */
  source?: { requestEveryMs: number; silentFromMs?: number; silentToMs?: number }
}

/** Resource usage of a running program. The program is killed when it exceeds the memory limit. */
export type SimUsage = { cpuCores: number; memoryBytes: number; memoryGrowthBytesPerSecond?: number }

const endsCheck = fields({ afterMs: number }, { exitCode: number, outOfMemory: oneOf(true) })

const behaviourCheck = fields({}, {
  startMs: number,
  cannotStart: text,
  print: lines,
  printLast: text,
  periodicOutput: fields({ everyMs: number, text }),
  ends: (value, at) => endsCheck(value, at) ?? requireOneEnding(Object(value), at),
  endingRuns: number,
  sync: fields(
    { fromBlock: number, headBlock: number, headBlocksPerSecond: number, blocksPerSecond: number },
    {
      stallsAtBlock: number,
      toBlock: number,
      source: fields({ requestEveryMs: number }, { silentFromMs: number, silentToMs: number }),
    },
  ),
  usage: fields({ cpuCores: number, memoryBytes: number }, { memoryGrowthBytesPerSecond: number }),
  response: fields({ status: number, text }),
  listens: oneOf(true, false),
  isServedSeparately: oneOf(true, false),
} satisfies Record<keyof SimBehaviour, ShapeCheck>)

const requireOneEnding = (value: object, at: string) =>
  'exitCode' in value === 'outOfMemory' in value ? `${at} must have either exitCode or outOfMemory` : null

const MIB = 1024 * 1024

/** The environment variable that contains the behaviour of a container as JSON. */
export const BEHAVIOUR_VARIABLE = 'SIM_BEHAVIOUR'

/** Returns the behaviour of a container: from its environment, from `fallback`, or that of a healthy squid. */
export function behaviourOf(
  workload: Workload,
  spec: ContainerSpec,
  fallback?: (workload: Workload, spec: ContainerSpec) => SimBehaviour | undefined,
): SimBehaviour {
  const json = spec.env[BEHAVIOUR_VARIABLE]
  return json ? readBehaviour(json) : (fallback?.(workload, spec) ?? healthyBehaviour(spec))
}

/** Parses a behaviour. With an invalid one the program cannot start, since starting a healthy program would hide the mistake. */
function readBehaviour(json: string): SimBehaviour {
  let parsed: unknown
  try {
    parsed = JSON.parse(json)
  } catch {
    return { cannotStart: `${BEHAVIOUR_VARIABLE} must be JSON` }
  }
  const problem = behaviourCheck(parsed, BEHAVIOUR_VARIABLE)
  return problem ? { cannotStart: problem } : (parsed as SimBehaviour)
}

function healthyBehaviour({ name, ports }: ContainerSpec): SimBehaviour {
  if (name === 'init')
    return { print: ['query: SELECT 1', 'No migrations are pending'], ends: { afterMs: 20, exitCode: 0 } }
  if (/^api(-\d+)?$/.test(name)) {
    return {
      print: [sdkLine('sqd:graphql-server', `listening on port ${ports[0] ?? 4350}`)],
      usage: { cpuCores: 0.01, memoryBytes: 105 * MIB },
    }
  }
  if (/^hasura(-\d+)?$/.test(name))
    return { response: { status: 200, text: 'OK' }, usage: { cpuCores: 0.01, memoryBytes: 120 * MIB } }
  const sync: SimSync = { fromBlock: 0, headBlock: 1_000_000, headBlocksPerSecond: 1 / 12, blocksPerSecond: 25_000 }
  return {
    print: [sdkLine('sqd:processor', 'processing blocks from 0')],
    sync,
    usage: { cpuCores: 0.05, memoryBytes: 75 * MIB },
  }
}

/** Returns a log line in the format of the SDK's programs. */
export const sdkLine = (ns: string, msg: string): string => JSON.stringify({ level: 2, ns, msg })
