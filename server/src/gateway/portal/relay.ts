import type { IncomingMessage, ServerResponse } from 'node:http'
import { Pool } from 'undici'
import { writeResponse } from '../../ports/write-response.ts'
import { sendPortalJson } from './http.ts'

/** Headers forwarded in each direction. Others may be hop-by-hop or identify this installation. */
const requestHeaders = ['content-type', 'content-encoding', 'accept', 'accept-encoding', 'user-agent', 'x-squid-id']
const responseHeaders = ['content-type', 'content-encoding', 'content-length', 'retry-after', 'cache-control']

/** Forwards requests to the configured portal, with backpressure. */
export class Relay {
  readonly #pool: Pool
  readonly #base: string
  readonly #stallMs: number

  /** `stallMs`: see `writeResponse`. */
  constructor(portalUrl: string, stallMs: number) {
    const url = new URL(portalUrl)
    this.#base = url.pathname.replace(/\/$/, '')
    this.#stallMs = stallMs
    // Without a maximum of connections, so that slow callers do not take those of others; `PortalCallers` limits the requests.
    this.#pool = new Pool(url.origin, { headersTimeout: 60_000, bodyTimeout: 300_000 })
  }

  /** Resolves with the number of bytes sent to the caller. Failures of the portal or the caller do not reject. */
  async forward(req: IncomingMessage, res: ServerResponse, datasetId: string, rest: string): Promise<number> {
    const disconnected = new AbortController()
    res.once('close', () => disconnected.abort())
    let response
    try {
      response = await this.#pool.request({
        method: req.method === 'POST' ? 'POST' : 'GET',
        path: `${this.#base}/datasets/${encodeURIComponent(datasetId)}/${rest}`,
        headers: pickHeaders(req.headers, (name) => requestHeaders.includes(name)),
        body: req.method === 'POST' ? req : null,
        signal: disconnected.signal,
      })
    } catch {
      if (!res.destroyed)
        return sendPortalJson(res, 502, { error: 'The portal is not responding. Try again in a few seconds.' })
      return 0
    }
    const isForwarded = (name: string) => responseHeaders.includes(name) || name.startsWith('x-sqd-')
    res.writeHead(response.statusCode, {
      'access-control-allow-origin': '*',
      ...pickHeaders(response.headers, isForwarded),
    })
    let bytes = 0
    try {
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        bytes += chunk.length
        await writeResponse(res, chunk, this.#stallMs)
      }
      res.end()
    } catch {
      // A truncated stream must not look complete.
      res.destroy()
    }
    return bytes
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

function pickHeaders(
  headers: Record<string, string | string[] | undefined>,
  accepts: (name: string) => boolean,
): Record<string, string> {
  const picked = Object.entries(headers).filter(([name, value]) => accepts(name) && value !== undefined)
  return Object.fromEntries(picked.map(([name, value]) => [name, String(value)]))
}
