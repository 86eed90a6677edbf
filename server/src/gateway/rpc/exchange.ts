import { Readable } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'

/** A node's response: either all of it in `bytes`, or its beginning in `bytes` and the `rest` as a stream. */
export type Reply = { status: number; bytes: Buffer; rest: Readable | null }

/** A request to a node, in terms of undici. */
export type ExchangeOptions = Omit<Dispatcher.DispatchOptions, 'origin'> & {
  signal?: AbortSignal | undefined
  /** Longer responses are returned as a stream before they have ended. */
  maxBufferedBytes: number
  minReadRate?: MinReadRate
}

/**
 * The rate at which a stream must be read, so that slow callers do not keep the connections to a node from others. Every `checkMs`, a stream that
 * waited for its caller is destroyed if fewer than `minBytes` were read while requests wait for a connection, or if nothing was read in
 * `maxIdleChecks` checks.
 */
type MinReadRate = { checkMs: number; minBytes: number; maxIdleChecks: number }
const defaultMinReadRate: MinReadRate = { checkMs: 5_000, minBytes: 524_288, maxIdleChecks: 12 }

/**
 * Sends one request. Uses `dispatch` rather than undici's `request`, which creates a stream for every response: nearly all responses
 * are small, and for these the stream costs more than the rest of the exchange.
 */
export function exchange(
  pool: Pool,
  { signal, maxBufferedBytes, minReadRate = defaultMinReadRate, ...options }: ExchangeOptions,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let status = 0
    let length = 0
    const parts: Buffer[] = []
    let rest: Readable | null = null
    let meter: ReadRateMeter | null = null
    const startStream = (controller: Dispatcher.DispatchController) => {
      const stream = new Readable({
        read: () => {
          meter?.resumed()
          controller.resume()
        },
        destroy: (error, done) => {
          meter?.stop()
          if (!controller.aborted) controller.abort(error ?? new Error('The caller disconnected'))
          done(error)
        },
      })
      // Without a listener, an error before the caller reads the stream would end the process.
      stream.on('error', () => {})
      rest = stream
      meter = new ReadRateMeter(pool, minReadRate, () =>
        stream.destroy(new Error('The caller reads the response too slowly')),
      )
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
          meter?.received(chunk.length)
          if (rest.push(chunk)) return
          meter?.paused()
          controller.pause()
          return
        }
        parts.push(chunk)
        length += chunk.length
        if (length > maxBufferedBytes) startStream(controller)
      },
      onResponseEnd: () => {
        meter?.stop()
        if (rest) rest.push(null)
        else resolve({ status, bytes: parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts), rest: null })
      },
      onResponseError: (_controller, error) => {
        meter?.stop()
        if (rest) rest.destroy(error)
        else reject(error)
      },
    })
  })
}

/** Measures how fast the caller of one stream reads, and calls `end` if it is too slow. */
class ReadRateMeter {
  readonly #timer: NodeJS.Timeout
  #bytes = 0
  #isPaused = false
  #wasPaused = false
  #idleChecks = 0

  constructor(pool: Pool, { checkMs, minBytes, maxIdleChecks }: MinReadRate, end: () => void) {
    this.#timer = setInterval(() => {
      const isSlow = this.#wasPaused && this.#bytes < minBytes
      this.#idleChecks = this.#wasPaused && this.#bytes === 0 ? this.#idleChecks + 1 : 0
      if ((isSlow && pool.stats.queued > 0) || this.#idleChecks >= maxIdleChecks) return end()
      this.#bytes = 0
      this.#wasPaused = this.#isPaused
    }, checkMs).unref()
  }

  received(bytes: number): void {
    this.#bytes += bytes
  }

  paused(): void {
    this.#isPaused = true
    this.#wasPaused = true
  }

  resumed(): void {
    this.#isPaused = false
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
