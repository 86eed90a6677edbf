import type { ContainerSpec, Workload } from '../driver.ts'
import { type Check, fields, lines, number, oneOf, text } from './shape.ts'

/** What a simulated program does. Everything is optional: without `ends` it runs until it is ended. Times in milliseconds. */
export type SimBehaviour = {
  /** Delay from the desired state to the running program. */
  startMs?: number
  /** A sentence: it can never be started. */
  cannotStart?: string
  /** Lines it writes first. */
  print?: string[]
  /** Then this, without a line end. */
  printLast?: string
  /** A line every so often while it runs; `{n}` in it counts. */
  chatter?: { everyMs: number; text: string }
  ends?: { afterMs: number; exitCode: number } | { afterMs: number; outOfMemory: true }
  /** Only so many runs end as `ends` says; what comes after them runs on. */
  badRuns?: number
  /** A processor's way through its chain. */
  sync?: SimSync
  usage?: SimUsage
  /** What an api answers to everything, in place of GraphQL. */
  answers?: { status: number; text: string }
  /** It runs and listens on none of its ports. */
  isDeaf?: true
}

export type SimSync = {
  fromBlock: number
  /** The chain's height when the run begins, and what it grows by. */
  headBlock: number
  headBlocksPerSecond: number
  blocksPerSecond: number
  /** It goes no further, without an error. */
  stallsAtBlock?: number
  /** Its last block: it ends with 0 when it is there, and says at the next start that nothing is left to do. */
  toBlock?: number
  /** It counts the requests to its RPC node, one every so often, which answers none from one time of the run to another. */
  source?: { asksEveryMs: number; silentFromMs?: number; silentToMs?: number }
}

/** What it takes while it runs. More memory than its limit ends it. */
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

/** The variable of a container's environment that holds its behaviour as JSON. */
export const BEHAVIOUR_VARIABLE = 'SIM_BEHAVIOUR'

/** What a container does: as its environment says, else as `choose` says, else what a healthy squid does. */
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
