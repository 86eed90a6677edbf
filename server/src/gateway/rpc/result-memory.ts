import { MemoryBudget } from '../../collections/memory-budget.ts'
import { codes, type RpcOutcome } from './json-rpc.ts'
import type { RpcRejection } from './accounts.ts'

/** Memory for the large results of all organizations that callers have not read. */
const capacityBytes = 512 * 1024 * 1024
/** Results up to this size in total need no reservation. */
const maxSmallBytes = 262_144
/** The part of a streamed result that is in memory. */
const streamBytes = 4_194_304

/** Limits the memory of results while their callers read them, of which each organization gets a fair part. */
export class ResultMemory {
  readonly #memory: MemoryBudget

  constructor(capacity = capacityBytes) {
    this.#memory = new MemoryBudget(capacity)
  }

  /**
   * Reserves memory for the results of one request. Returns a function that releases it; null if the organization has too many large
   * results. Calls `evict` when the memory is given to another organization.
   */
  reserve(orgId: number, outcomes: readonly RpcOutcome[], evict: () => void): (() => void) | null {
    const bytes = outcomes.reduce((sum, outcome) => sum + bytesOf(outcome), 0)
    return bytes <= maxSmallBytes ? () => {} : this.#memory.reserve(String(orgId), bytes, evict)
  }
}

function bytesOf(outcome: RpcOutcome): number {
  if (outcome.kind === 'result') return outcome.json.length
  return outcome.kind === 'stream' ? streamBytes : 0
}

/** The response to a request whose results find no memory. */
export const tooManyResults: RpcRejection = {
  status: 429,
  error: {
    code: codes.limitExceeded,
    message: 'Too many large results are being sent. Read them faster, request less, or try again in a few seconds.',
  },
}
