import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorText, resultHead, type Outcome, type RpcError } from './json-rpc.ts'

/** Browsers of dapps call from anywhere; the token in the address is what lets them in, so no cookie matters. */
export const openToBrowsers = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
}

/** Null when it is longer than allowed; the rest is not read then. Rejects when the caller hangs up. */
export function readText(req: IncomingMessage, mostBytes: number): Promise<string | null> {
  return new Promise((resolve, reject) => {
    if (Number(req.headers['content-length'] ?? 0) > mostBytes) return resolve(null)
    const parts: Buffer[] = []
    let length = 0
    // Events, since an async iterator over every small body would cost as much as answering it.
    req.on('data', (part: Buffer) => {
      parts.push(part)
      length += part.length
      if (length <= mostBytes) return
      req.removeAllListeners('data').pause()
      resolve(null)
    })
    req.once('end', () => resolve(parts.length === 1 ? String(parts[0]) : Buffer.concat(parts).toString()))
    req.once('error', reject)
    req.once('close', () => reject(new Error('The caller hung up')))
  })
}

export function sendError(res: ServerResponse, status: number, id: string, error: RpcError): void {
  sendText(res, status, errorText(id, error))
}

function sendText(res: ServerResponse, status: number, text: string): void {
  const length = Buffer.byteLength(text)
  res.writeHead(status, { ...openToBrowsers, 'content-type': 'application/json', 'content-length': length })
  res.end(text)
}

/** One answer, streamed when it is large. */
export async function sendOutcome(res: ServerResponse, status: number, id: string, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'error') return sendError(res, status, id, outcome.error)
  const head = resultHead(id)
  if (outcome.kind === 'result') {
    const { json } = outcome
    const length = Buffer.byteLength(head) + json.length + 1
    res.writeHead(status, { ...openToBrowsers, 'content-type': 'application/json', 'content-length': length })
    // One small packet is cheaper than three; a large answer is not copied for it.
    if (json.length < 65_536) return void res.end(Buffer.concat([Buffer.from(head), json, closing]))
    res.write(head)
    res.write(json)
    return void res.end(closing)
  }
  res.writeHead(status, { ...openToBrowsers, 'content-type': 'application/json' })
  await writeOutcome(res, id, outcome)
  res.end()
}

/** All answers of a batch; no more than one is waiting in memory for a slow reader. */
export async function sendBatch(
  res: ServerResponse,
  status: number,
  answers: readonly { id: string; outcome: Outcome }[],
): Promise<void> {
  res.writeHead(status, { ...openToBrowsers, 'content-type': 'application/json' })
  let before = '['
  for (const { id, outcome } of answers) {
    res.write(before)
    before = ','
    await writeOutcome(res, id, outcome)
  }
  res.end(']')
}

const closing = Buffer.from('}')

async function writeOutcome(res: ServerResponse, id: string, outcome: Outcome): Promise<void> {
  if (outcome.kind === 'error') return void res.write(errorText(id, outcome.error))
  res.write(resultHead(id))
  if (outcome.kind === 'result') await write(res, outcome.json)
  else for await (const chunk of outcome.chunks) await write(res, chunk)
  res.write(closing)
}

/** Waits for a reader that is slower than we are, and gives up with one that has gone. */
async function write(res: ServerResponse, bytes: Uint8Array): Promise<void> {
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
