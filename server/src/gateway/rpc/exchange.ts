import { Readable } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'

/** A node's response: either all of it in `bytes`, or its beginning in `bytes` and the `rest` as a stream. */
export type Reply = { status: number; bytes: Buffer; rest: Readable | null }

/** A request to a node, in terms of undici. */
export type ExchangeOptions = Omit<Dispatcher.DispatchOptions, 'origin'> & {
  signal?: AbortSignal | undefined
  /** Longer responses are returned as a stream before they have ended. */
  maxBufferedBytes: number
}

/**
 * Sends one request. Uses `dispatch` rather than undici's `request`, which creates a stream for every response: nearly all responses
 * are small, and for these the stream costs more than the rest of the exchange.
 */
export function exchange(pool: Pool, { signal, maxBufferedBytes, ...options }: ExchangeOptions): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let status = 0
    let length = 0
    const parts: Buffer[] = []
    let rest: Readable | null = null
    const startStream = (controller: Dispatcher.DispatchController) => {
      rest = new Readable({
        read: () => controller.resume(),
        destroy: (error, done) => {
          if (!controller.aborted) controller.abort(error ?? new Error('The caller disconnected'))
          done(error)
        },
      })
      resolve({ status, bytes: Buffer.concat(parts), rest })
    }
    pool.dispatch(options, {
      onRequestStart: (controller) => {
        if (signal?.aborted) controller.abort(new Error('The call was cancelled'))
        else
          signal?.addEventListener('abort', () => controller.abort(new Error('The call was cancelled')), { once: true })
      },
      onResponseStart: (_controller, statusCode) => void (status = statusCode),
      onResponseData: (controller, chunk) => {
        if (rest) {
          if (!rest.push(chunk)) controller.pause()
          return
        }
        parts.push(chunk)
        length += chunk.length
        if (length > maxBufferedBytes) startStream(controller)
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
