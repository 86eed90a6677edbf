import { get } from 'node:http'

/** Requests a page of this host. Returns null if nothing responds within four seconds. */
export function getLocal(url: string): Promise<{ status: number; body: string } | null> {
  return new Promise((done) => {
    const request = get(url, { timeout: 4_000, agent: false }, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.once('end', () => done({ status: response.statusCode ?? 0, body }))
      response.once('error', () => done(null))
    })
    request.once('timeout', () => request.destroy())
    request.once('error', () => done(null))
  })
}

/** Parses JSON; null if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
