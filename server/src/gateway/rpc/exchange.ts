import { Readable } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'

/** What a node sent back: all of it, or its beginning and the rest as it comes. */
export type Reply = { status: number; bytes: Buffer; rest: Readable | null }

export type ExchangeOptions = Omit<Dispatcher.DispatchOptions, 'origin'> & {
  signal?: AbortSignal | undefined
  /** Longer replies are answered before they have ended. */
  wholeBytes: number
}

/**
 * One request. Below undici's `request`, which makes a stream of every reply: for the small ones, which are nearly all, that
 * costs more than the rest of the exchange.
 */
export function exchange(pool: Pool, { signal, wholeBytes, ...options }: ExchangeOptions): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let status = 0
    let length = 0
    const parts: Buffer[] = []
    let rest: Readable | null = null
    const startStream = (controller: Dispatcher.DispatchController) => {
      rest = new Readable({
        read: () => controller.resume(),
        destroy: (error, done) => {
          if (!controller.aborted) controller.abort(error ?? new Error('The caller hung up'))
          done(error)
        },
      })
      resolve({ status, bytes: Buffer.concat(parts), rest })
    }
    pool.dispatch(options, {
      onRequestStart: (controller) => {
        if (signal?.aborted) controller.abort(new Error('Given up'))
        else signal?.addEventListener('abort', () => controller.abort(new Error('Given up')), { once: true })
      },
      onResponseStart: (_controller, statusCode) => void (status = statusCode),
      onResponseData: (controller, chunk) => {
        if (rest) {
          if (!rest.push(chunk)) controller.pause()
          return
        }
        parts.push(chunk)
        length += chunk.length
        if (length > wholeBytes) startStream(controller)
      },
      onResponseEnd: () => {
        if (rest) rest.push(null)
        else resolve({ status, bytes: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts), rest: null })
      },
      onResponseError: (_controller, error) => {
        if (rest) rest.destroy(error)
        else reject(error)
      },
    })
  })
}
