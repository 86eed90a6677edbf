import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'

export type LocalPage = { status: number; location: string | undefined; body: string }

/**
 * Requests a page of this host. Returns null if nothing responds within four seconds.
 * Does not verify certificates.
 * @param name the name to request, for ports that serve several names
 */
export function getLocal(url: string, name?: string): Promise<LocalPage | null> {
  return new Promise((done) => {
    const named = name === undefined ? {} : { headers: { host: name }, servername: name }
    const read = (response: IncomingMessage) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.once('end', () => done({ status: response.statusCode ?? 0, location: response.headers.location, body }))
      response.once('error', () => done(null))
    }
    const options = { timeout: 4_000, agent: false, ...named }
    // Only whether this installation listens there matters; check-certificates.ts verifies certificates.
    const request = url.startsWith('https:')
      ? getHttps(url, { ...options, rejectUnauthorized: false }, read)
      : getHttp(url, options, read)
    request.once('timeout', () => request.destroy())
    request.once('error', () => done(null))
  })
}

/** Parses JSON. Returns null if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
