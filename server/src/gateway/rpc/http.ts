import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorText, resultHead, type Outcome, type RpcError } from './json-rpc.ts'

/** Dapps call from any origin. The token in the URL authorizes them, so cookies play no role. */
const corsHeaders = ['access-control-allow-origin', '*']
const jsonHeaders = [...corsHeaders, 'content-type', 'application/json']
const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
}

/** Longer results are written separately instead of being copied into one piece with their envelope. */
const copiedBytes = 4_096
const pieceLength = 65_536

/** Answers a CORS preflight request. */
export function sendPreflight(res: ServerResponse): void {
  res.writeHead(204, preflightHeaders).end()
}

/** Response to JSON-RPC notifications, which have no result. */
export function sendNoContent(res: ServerResponse): void {
  res.writeHead(204, corsHeaders).end()
}

/** Reads the body; null when it exceeds `maxBytes`, and then the rest is not read. Rejects when the caller disconnects. */
export function readText(req: IncomingMessage, maxBytes: number): Promise<string | null> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) return resolve(null)
    const parts: Buffer[] = []
    let length = 0
    // Uses events: an async iterator over every small body would cost as much as the call itself.
    req.on('data', (part: Buffer) => {
      parts.push(part)
      length += part.length
      if (length <= maxBytes) return
      req.removeAllListeners('data').pause()
      resolve(null)
    })
    req.once('end', () => resolve(parts.length === 1 ? String(parts[0]) : Buffer.concat(parts).toString()))
    req.once('error', reject)
    req.once('close', () => {
      // `close` is emitted after every request, and creating an error with its stack costs more than the call.
      if (!req.complete) reject(new Error('The caller disconnected'))
    })
  })
}

export function sendError(res: ServerResponse, status: number, id: string, error: RpcError): void {
  sendText(res, status, errorText(id, error))
}

function sendText(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, [...jsonHeaders, 'content-length', String(Buffer.byteLength(text))])
  // Node sends headers and body as one string, which is cheaper than several chunks.
  res.end(text)
}

/** Sends one response, streamed when it is large. */
export async function sendOutcome(res: ServerResponse, status: number, id: string, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'error') return sendError(res, status, id, outcome.error)
  if (outcome.kind === 'result' && isShort(outcome.json)) return sendText(res, status, resultText(id, outcome.json))
  res.writeHead(status, outcome.kind === 'result' ? [...jsonHeaders, ...lengthOf(id, outcome.json)] : jsonHeaders)
  await writeResult(res, id, outcome)
  res.end()
}

const lengthOf = (id: string, json: Buffer) => [
  'content-length',
  String(Buffer.byteLength(resultHead(id)) + json.length + closing.length),
]

/** Sends a batch: short results in joined pieces; at most one long result is buffered for a slow reader. */
export async function sendBatch(
  res: ServerResponse,
  status: number,
  answers: readonly { id: string; outcome: Outcome }[],
): Promise<void> {
  let piece = '['
  const flush = async () => {
    if (!res.headersSent) res.writeHead(status, jsonHeaders)
    await write(res, piece)
    piece = ''
  }
  for (const [i, { id, outcome }] of answers.entries()) {
    if (i > 0) piece += ','
    if (outcome.kind === 'error') piece += errorText(id, outcome.error)
    else if (outcome.kind === 'result' && isShort(outcome.json)) piece += resultText(id, outcome.json)
    else {
      await flush()
      await writeResult(res, id, outcome)
    }
    if (piece.length > pieceLength) await flush()
  }
  if (res.headersSent) res.end(`${piece}]`)
  else sendText(res, status, `${piece}]`)
}

const closing = '}'

/** Longer results are sent as the node's bytes, without conversion to a string. */
const isShort = (json: Buffer): boolean => json.length <= copiedBytes

const resultText = (id: string, json: Buffer): string => resultHead(id) + json.toString() + closing

async function writeResult(
  res: ServerResponse,
  id: string,
  outcome: Exclude<Outcome, { kind: 'error' }>,
): Promise<void> {
  res.write(resultHead(id))
  if (outcome.kind === 'result') await write(res, outcome.json)
  else for await (const chunk of outcome.chunks) await write(res, chunk)
  res.write(closing)
}

/** Waits for a slow reader. @throws Error when the caller has disconnected */
async function write(res: ServerResponse, bytes: Uint8Array | string): Promise<void> {
  if (res.destroyed) throw new Error('The caller disconnected')
  if (res.write(bytes)) return
  await new Promise<void>((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done)
      resolve()
    }
    res.on('drain', done).on('close', done)
  })
}
