import type { ServerResponse } from 'node:http'

/** How long a caller may accept no data before its response is destroyed. */
export const maxStallMs = 60_000

/**
 * Writes to the response, and waits while the caller does not accept more data. Destroys the response if the caller accepts none for
 * `stallMs`.
 * @throws Error if the caller has disconnected before
 */
export async function writeResponse(
  res: ServerResponse,
  chunk: Uint8Array | string,
  stallMs = maxStallMs,
): Promise<void> {
  if (res.destroyed) throw new Error('The caller disconnected')
  if (!res.write(chunk)) await untilDrained(res, stallMs)
}

/** Resolves when the caller accepts more data, or has disconnected. Destroys the response if the caller accepts none for `stallMs`. */
export function untilDrained(res: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      res.off('drain', done).off('close', done)
      resolve()
    }
    const timer = setTimeout(() => {
      res.destroy()
      // A response that waits for an earlier one of its connection is not closed yet.
      done()
    }, stallMs)
    res.on('drain', done).on('close', done)
  })
}
