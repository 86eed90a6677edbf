import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorText, resultHead, type Outcome, type RpcError } from './json-rpc.ts'

/** Browsers of dapps call from anywhere; the token in the address is what lets them in, so no cookie matters. */
const openToBrowsers = ['access-control-allow-origin', '*']
const jsonHeaders = [...openToBrowsers, 'content-type', 'application/json']
const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
}

/** Longer results are not copied to be sent in one piece with what is around them. */
const copiedBytes = 4_096
const pieceLength = 65_536

/** What a browser asks before it calls. */
export function sendPreflight(res: ServerResponse): void {
  res.writeHead(204, preflightHeaders).end()
}

/** To notifications, which get no answer. */
export function sendNothing(res: ServerResponse): void {
  res.writeHead(204, openToBrowsers).end()
}

/** Null when it is longer than allowed; the rest is not read then. Rejects when the caller hangs up. */
export function readText(req: IncomingMessage, maxBytes: number): Promise<string | null> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length'] ?? 0) > maxBytes) return resolve(null)
    const parts: Buffer[] = []
    let length = 0
    // Events, since an async iterator over every small body would cost as much as answering it.
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
      // It also comes after every answer, and an error with its stack costs more than the call.
      if (!req.complete) reject(new Error('The caller hung up'))
    })
  })
}

export function sendError(res: ServerResponse, status: number, id: string, error: RpcError): void {
  sendText(res, status, errorText(id, error))
}

function sendText(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, [...jsonHeaders, 'content-length', String(Buffer.byteLength(text))])
  // Head and body go out as one string, which is cheaper than a list of them.
  res.end(text)
}

/** One answer, streamed when it is large. */
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

/** All answers of a batch: short ones in pieces, of long ones no more than one waiting in memory for a slow reader. */
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

/** Others are better sent as the node wrote them. */
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

/** Waits for a reader that is slower than we are, and gives up with one that has gone. */
async function write(res: ServerResponse, bytes: Uint8Array | string): Promise<void> {
  if (res.destroyed) throw new Error('the caller hung up')
  if (res.write(bytes)) return
  await new Promise<void>((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done)
      resolve()
    }
    res.on('drain', done).on('close', done)
  })
}
