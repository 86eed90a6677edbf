import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Pool } from 'undici'
import { sendJson } from './http.ts'

/** Told to the portal and back; hop-by-hop headers and those that name us are not. */
const requestHeaders = ['content-type', 'content-encoding', 'accept', 'accept-encoding', 'user-agent', 'x-squid-id']
const responseHeaders = ['content-type', 'content-encoding', 'content-length', 'retry-after', 'cache-control']

/** Passes requests on to the configured portal, no faster than the caller reads. */
export class Relay {
  readonly #pool: Pool
  readonly #base: string

  constructor(portalUrl: string) {
    const url = new URL(portalUrl)
    this.#base = url.pathname.replace(/\/$/, '')
    this.#pool = new Pool(url.origin, { connections: 128, headersTimeout: 60_000, bodyTimeout: 300_000 })
  }

  /** Answers how many bytes the caller was sent. Never rejects for what the portal or the caller does. */
  async pass(req: IncomingMessage, res: ServerResponse, datasetId: string, rest: string): Promise<number> {
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    let answer
    try {
      answer = await this.#pool.request({
        method: req.method === 'POST' ? 'POST' : 'GET',
        path: `${this.#base}/datasets/${encodeURIComponent(datasetId)}/${rest}`,
        headers: picked(req.headers, (name) => requestHeaders.includes(name)),
        body: req.method === 'POST' ? req : null,
        signal: gone.signal,
      })
    } catch {
      if (!res.destroyed)
        return sendJson(res, 502, { error: 'The portal does not answer now. Try again in a few seconds.' })
      return 0
    }
    const isTold = (name: string) => responseHeaders.includes(name) || name.startsWith('x-sqd-')
    res.writeHead(answer.statusCode, { 'access-control-allow-origin': '*', ...picked(answer.headers, isTold) })
    let bytes = 0
    answer.body.on('data', (chunk: Buffer) => (bytes += chunk.length))
    // A stream that breaks in the middle must not look complete: pipeline breaks the caller's connection too.
    await pipeline(answer.body, res).catch(() => undefined)
    return bytes
  }

  close(): Promise<void> {
    return this.#pool.destroy()
  }
}

function picked(
  headers: Record<string, string | string[] | undefined>,
  isWanted: (name: string) => boolean,
): Record<string, string> {
  const found = Object.entries(headers).filter(([name, value]) => isWanted(name) && value !== undefined)
  return Object.fromEntries(found.map(([name, value]) => [name, String(value)]))
}
