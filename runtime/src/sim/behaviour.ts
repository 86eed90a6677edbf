import type { ContainerSpec, Workload } from '../driver.ts'
import { type Check, fields, lines, number, oneOf, text } from './shape.ts'

/** Behaviour of a simulated program. Everything is optional: without `ends` it runs until stopped. Times in milliseconds. */
export type SimBehaviour = {
  /** Delay from the desired state to the running program. */
  startMs?: number
  /** It can never be started, for this reason. */
  cannotStart?: string
  /** Lines to print at the start. */
  print?: string[]
  /** Text to print after them, without a line end. */
  printLast?: string
  /** A line to print periodically; `{n}` is replaced by a counter. */
  chatter?: { everyMs: number; text: string }
  ends?: { afterMs: number; exitCode: number } | { afterMs: number; outOfMemory: true }
  /** Number of runs that end as given by `ends`; later runs continue. */
  badRuns?: number
  /** Indexing progress of a processor. */
  sync?: SimSync
  usage?: SimUsage
  /** Response of an api to every request, instead of GraphQL. */
  answers?: { status: number; text: string }
  /** It runs without listening on its ports. */
  isDeaf?: true
}

export type SimSync = {
  fromBlock: number
  /** The chain's height at the start of the run, and its growth. */
  headBlock: number
  headBlocksPerSecond: number
  blocksPerSecond: number
  /** It stalls without an error. */
  stallsAtBlock?: number
  /** Its last block, after which it exits with 0 and reports at the next start that it is finished. */
  toBlock?: number
  /** Periodic requests to an RPC node that fails in a time range of the run. */
  source?: { asksEveryMs: number; silentFromMs?: number; silentToMs?: number }
}

/** Resource usage while it runs. Exceeding the memory limit ends it. */
export type SimUsage = { cpuCores: number; memoryBytes: number; memoryGrowthBytesPerSecond?: number }

const endings = fields({ afterMs: number }, { exitCode: number, outOfMemory: oneOf(true) })

const behaviourCheck = fields({}, {
  startMs: number,
  cannotStart: text,
  print: lines,
  printLast: text,
  chatter: fields({ everyMs: number, text }),
  ends: (value, at) => endings(value, at) ?? eitherEnd(Object(value), at),
  badRuns: number,
  sync: fields(
    { fromBlock: number, headBlock: number, headBlocksPerSecond: number, blocksPerSecond: number },
    {
      stallsAtBlock: number,
      toBlock: number,
      source: fields({ asksEveryMs: number }, { silentFromMs: number, silentToMs: number }),
    },
  ),
  usage: fields({ cpuCores: number, memoryBytes: number }, { memoryGrowthBytesPerSecond: number }),
  answers: fields({ status: number, text }),
  isDeaf: oneOf(true),
} satisfies Record<keyof SimBehaviour, Check>)

const eitherEnd = (value: object, at: string) =>
  'exitCode' in value === 'outOfMemory' in value ? `${at} must have either exitCode or outOfMemory` : null

const MIB = 1024 * 1024

/** The environment variable of a container with its behaviour as JSON. */
export const BEHAVIOUR_VARIABLE = 'SIM_BEHAVIOUR'

/** The behaviour of a container: from its environment, or from `choose`, or else that of a healthy squid. */
export function behaviourOf(
  workload: Workload,
  spec: ContainerSpec,
  choose?: (workload: Workload, spec: ContainerSpec) => SimBehaviour | undefined,
): SimBehaviour {
  const written = spec.env[BEHAVIOUR_VARIABLE]
  return written ? readBehaviour(written) : (choose?.(workload, spec) ?? healthy(spec))
}

/** An invalid behaviour cannot be started and gets a reason: starting a healthy program instead would hide the mistake. */
function readBehaviour(json: string): SimBehaviour {
  let read: unknown
  try {
    read = JSON.parse(json)
  } catch {
    return { cannotStart: `${BEHAVIOUR_VARIABLE} must be JSON` }
  }
  const problem = behaviourCheck(read, BEHAVIOUR_VARIABLE)
  return problem ? { cannotStart: problem } : (read as SimBehaviour)
}

function healthy({ name, ports }: ContainerSpec): SimBehaviour {
  if (name === 'init')
    return { print: ['query: SELECT 1', 'No migrations are pending'], ends: { afterMs: 20, exitCode: 0 } }
  if (/^api(-\d+)?$/.test(name)) {
    return {
      print: [sdkLine('sqd:graphql-server', `listening on port ${ports[0] ?? 4350}`)],
      usage: { cpuCores: 0.01, memoryBytes: 105 * MIB },
    }
  }
  const sync: SimSync = { fromBlock: 0, headBlock: 1_000_000, headBlocksPerSecond: 1 / 12, blocksPerSecond: 25_000 }
  return {
    print: [sdkLine('sqd:processor', 'processing blocks from 0')],
    sync,
    usage: { cpuCores: 0.05, memoryBytes: 75 * MIB },
  }
}

/** As the SDK's programs log. */
export const sdkLine = (ns: string, msg: string): string => JSON.stringify({ level: 2, ns, msg })
