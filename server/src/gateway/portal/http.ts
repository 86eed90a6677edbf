import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { writeResponse } from '../../ports/write-response.ts'

/** Functions that read requests and send responses. Those that send return the number of bytes sent. */

const corsHeaders = { 'access-control-allow-origin': '*' }

/** Sends a value as JSON. */
export function sendPortalJson(
  res: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): number {
  return sendText(res, status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
}

/** Sends a text, which any origin may read. */
export function sendText(
  res: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): number {
  const length = Buffer.byteLength(text)
  res
    .writeHead(status, { ...corsHeaders, 'content-type': 'text/plain', 'content-length': `${length}`, ...headers })
    .end(text)
  return length
}

/** Streams lines of JSON with backpressure. Stops when the caller disconnects. `stallMs`: see `writeResponse`. */
export async function sendLines(
  res: ServerResponse,
  lines: AsyncIterable<unknown>,
  headers: Record<string, string>,
  stallMs: number,
): Promise<number> {
  res.writeHead(200, { ...corsHeaders, 'content-type': 'application/x-ndjson', ...headers })
  let bytes = 0
  for await (const line of lines) {
    if (res.destroyed) return bytes
    const text = Buffer.from(`${JSON.stringify(line)}\n`)
    bytes += text.length
    await writeResponse(res, text, stallMs)
  }
  res.end()
  return bytes
}

const unzip = promisify(gunzip)
/** Maximum size of a request body, both as sent and unzipped. */
const maxBytes = 2_000_000

/** Returns the memory that reading the body may take. */
export function maxBodyBytes({ method, headers }: IncomingMessage): number {
  if (method !== 'POST') return 0
  return Math.min(Number(headers['content-length'] ?? maxBytes), maxBytes)
}

/** Parses the body as JSON; null when the body is invalid or too long. */
export async function readJsonBody(req: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of req as AsyncIterable<Buffer>) {
    parts.push(part)
    length += part.length
    if (length > maxBytes) return null
  }
  try {
    const body = Buffer.concat(parts)
    const isZipped = req.headers['content-encoding'] === 'gzip'
    return JSON.parse((isZipped ? await unzip(body, { maxOutputLength: maxBytes }) : body).toString())
  } catch {
    return null
  }
}
