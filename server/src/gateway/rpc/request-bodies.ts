import type { IncomingMessage, ServerResponse } from 'node:http'
import { MemoryBudget } from '../../collections/memory-budget.ts'
import type { RpcRejection } from './accounts.ts'
import { readText } from './http.ts'
import { codes } from './json-rpc.ts'

/** Maximum size of a request body. */
const maxBodyBytes = 5_000_000
/** Bodies up to this size need neither a valid token nor a reservation of memory. */
const maxSmallBytes = 65_536
/** Memory for the larger bodies of all organizations. Executing a call takes a few times the size of its body. */
const capacityBytes = 128 * 1024 * 1024

/** A body, and a function that releases its memory, to be called after the response. */
export type RequestBody = { text: string; release: () => void }

/** Reads request bodies. Large ones share a limited memory, of which each organization gets a fair part. */
export class RequestBodies {
  readonly #memory = new MemoryBudget(capacityBytes)

  /**
   * Reads a body. Calls `findOrg` unless the header says that the body is small; it may return the reason why all calls of the token are
   * rejected, in which case only a small body is read. Resolves with a rejection if the body is too large or its organization has too many
   * large ones. Rejects when the caller disconnects, or when the memory is given to another organization, after destroying the response.
   */
  async read(
    req: IncomingMessage,
    res: ServerResponse,
    findOrg: () => Promise<{ id: number } | RpcRejection>,
  ): Promise<RequestBody | RpcRejection> {
    const length = req.headers['transfer-encoding'] === undefined ? Number(req.headers['content-length'] ?? 0) : null
    const isSmall = length !== null && length <= maxSmallBytes
    const org = isSmall ? tooLarge : await findOrg()
    let rejection = 'error' in org ? org : tooLarge
    let release = () => {}
    const allowLarge = (): number => {
      if ('error' in org) return 0
      const bytes = Math.min(length ?? maxBodyBytes, maxBodyBytes)
      const reserved = this.#memory.reserve(String(org.id), bytes, () => res.destroy())
      if (reserved) release = reserved
      else rejection = tooManyLarge
      return reserved ? maxBodyBytes : 0
    }
    try {
      const text = await readText(req, maxSmallBytes, allowLarge)
      if (text !== null) return { text, release }
    } catch (error) {
      release()
      throw error
    }
    release()
    return rejection
  }
}

const tooLarge: RpcRejection = {
  status: 413,
  error: { code: codes.limitExceeded, message: `The body is larger than ${maxBodyBytes / 1e6} MB.` },
}
const tooManyLarge: RpcRejection = {
  status: 429,
  error: {
    code: codes.limitExceeded,
    message: 'Too many large requests at the same time. Try again in a few seconds, or send smaller batches.',
  },
}
