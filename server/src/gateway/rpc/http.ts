import type { IncomingMessage, ServerResponse } from 'node:http'
import { BodyParts } from '../../ports/body-parts.ts'
import { writeResponse } from '../../ports/write-response.ts'
import { errorText, resultHead, type RpcOutcome, type RpcError } from './json-rpc.ts'

/** Apps call from any origin: the token in the URL authorizes them, not a cookie. */
const corsHeaders = ['access-control-allow-origin', '*']
const jsonHeaders = [...corsHeaders, 'content-type', 'application/json']
const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
}

/** Maximum size of a result that is copied into one string with its envelope. Longer results are written as they are. */
const maxCopiedBytes = 4_096
/** A batch is written whenever this many characters of short results have been joined. */
const maxChunkLength = 65_536

/** Responds to a CORS preflight request. */
export function sendPreflight(res: ServerResponse): void {
  res.writeHead(204, preflightHeaders).end()
}

/** Responds to JSON-RPC notifications, which have no result. */
export function sendNoContent(res: ServerResponse): void {
  res.writeHead(204, corsHeaders).end()
}

/**
 * Reads the body. When it is larger than `smallBytes`, by its header or when read, calls `allowLarge` once for the maximum size. Resolves to
 * null, without reading the rest, when the body exceeds the maximum. Rejects when the caller disconnects.
 */
export function readText(req: IncomingMessage, smallBytes: number, allowLarge: () => number): Promise<string | null> {
  return new Promise((resolve, reject) => {
    // The caller may have disconnected before; then no event follows.
    if (req.destroyed) return reject(new Error('The caller disconnected'))
    let maxBytes = smallBytes
    let isLarge = false
    const isTooLarge = (bytes: number): boolean => {
      if (bytes > maxBytes && !isLarge) {
        isLarge = true
        maxBytes = allowLarge()
      }
      return bytes > maxBytes
    }
    if (isTooLarge(Number(req.headers['content-length'] ?? 0))) return resolve(null)
    const parts = new BodyParts()
    // Uses events, since an async iterator over every small body would cost as much as the call itself.
    req.on('data', (part: Buffer) => {
      parts.add(part)
      if (!isTooLarge(parts.length)) return
      req.removeAllListeners('data').pause()
      resolve(null)
    })
    req.once('end', () => resolve(parts.text()))
    req.once('error', reject)
    req.once('close', () => {
      // `close` is emitted after every request. The error is created only if needed, since its stack costs more than a call.
      if (!req.complete) reject(new Error('The caller disconnected'))
    })
  })
}

/** Sends an error as the response to the call with this id, which is JSON text. */
export function sendError(res: ServerResponse, status: number, id: string, error: RpcError): void {
  sendText(res, status, errorText(id, error))
}

function sendText(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, [...jsonHeaders, 'content-length', String(Buffer.byteLength(text))])
  // Node sends headers and body as one string, which is cheaper than several chunks.
  res.end(text)
}

/** Sends one response, streamed when it is large. */
export async function sendOutcome(res: ServerResponse, status: number, id: string, outcome: RpcOutcome): Promise<void> {
  if (outcome.kind === 'error') return sendError(res, status, id, outcome.error)
  if (outcome.kind === 'result' && isShort(outcome.json)) return sendText(res, status, resultText(id, outcome.json))
  res.writeHead(status, outcome.kind === 'result' ? [...jsonHeaders, ...lengthOf(id, outcome.json)] : jsonHeaders)
  await writeResult(res, id, outcome)
  res.end()
}

const lengthOf = (id: string, json: Buffer) => [
  'content-length',
  String(Buffer.byteLength(resultHead(id)) + json.length + envelopeEnd.length),
]

/** Sends a batch. Short results are joined into chunks; at most one long result is buffered for a slow reader. */
export async function sendBatch(
  res: ServerResponse,
  status: number,
  responses: readonly { id: string; outcome: RpcOutcome }[],
): Promise<void> {
  let chunk = '['
  const flush = async () => {
    if (!res.headersSent) res.writeHead(status, jsonHeaders)
    await writeResponse(res, chunk)
    chunk = ''
  }
  for (const [i, { id, outcome }] of responses.entries()) {
    if (i > 0) chunk += ','
    if (outcome.kind === 'error') chunk += errorText(id, outcome.error)
    else if (outcome.kind === 'result' && isShort(outcome.json)) chunk += resultText(id, outcome.json)
    else {
      await flush()
      await writeResult(res, id, outcome)
    }
    if (chunk.length > maxChunkLength) await flush()
  }
  if (res.headersSent) res.end(`${chunk}]`)
  else sendText(res, status, `${chunk}]`)
}

const envelopeEnd = '}'

/** False for results that are sent as the node's bytes, without conversion to a string. */
const isShort = (json: Buffer): boolean => json.length <= maxCopiedBytes

const resultText = (id: string, json: Buffer): string => resultHead(id) + json.toString() + envelopeEnd

async function writeResult(
  res: ServerResponse,
  id: string,
  outcome: Exclude<RpcOutcome, { kind: 'error' }>,
): Promise<void> {
  res.write(resultHead(id))
  if (outcome.kind === 'result') await writeResponse(res, outcome.json)
  else for await (const chunk of outcome.chunks) await writeResponse(res, chunk)
  res.write(envelopeEnd)
}

/** Returns the squid version that sent a request, empty for other clients, from the header in which the SDK sends SQUID_ID. */
export function versionOf(req: IncomingMessage): string {
  const header = req.headers['x-squid-id']
  return typeof header === 'string' && /^[\w@:./-]{1,80}$/.test(header) ? header : ''
}
