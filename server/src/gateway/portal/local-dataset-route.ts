import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Dataset } from '../../modules/portal/index.ts'
import { schemeOf } from '../headers.ts'
import { ChainUnreadableError, type BlockRef, type EvmDataset } from './evm-dataset.ts'
import { EvmQuery } from './evm-query.ts'
import { readJsonBody, sendPortalJson, sendLines, sendText } from './http.ts'

/** How long a request waits for the next block before it gets an empty response. */
const newBlockWaitMs = 5_000
/** Maximum time until such a request reads the head again. */
const newBlockPollMs = 1_000
/** Maximum number of blocks per response of the archive protocol, which is not streamed. */
const maxArchiveBlocks = 500

type LocalRequest = {
  req: IncomingMessage
  res: ServerResponse
  dataset: Dataset
  blocks: EvmDataset
  /** The part of the URL after the id of the dataset, without the query. */
  path: string
  /** SHOAL_TRUST_PROXY. */
  isProxyTrusted: boolean
  /** See `writeResponse`. */
  stallMs: number
}

type Handler = (request: LocalRequest) => number | Promise<number>

const sendMetadata: Handler = ({ res, dataset }) =>
  sendPortalJson(res, 200, { dataset: dataset.id, aliases: [], real_time: true, start_block: 0 })

const sendHead =
  (tag: 'latest' | 'finalized'): Handler =>
  async ({ res, blocks }) =>
    sendPortalJson(res, 200, await blocks.head(tag))

const sendHeight =
  (tag: 'latest' | 'finalized'): Handler =>
  async ({ res, blocks }) =>
    sendText(res, 200, String((await blocks.head(tag))?.number ?? -1))

/** The routes of the Portal protocol, and `height` and `POST worker` of the older archive protocol (`setGateway` of the SDK). */
const handlers: Record<string, Handler> = {
  'GET metadata': sendMetadata,
  'GET head': sendHead('latest'),
  'GET finalized-head': sendHead('finalized'),
  'GET height': sendHeight('finalized'),
  'GET finalized-stream/height': sendHeight('finalized'),
  'GET stream/height': sendHeight('latest'),
  'POST stream': (request) => stream(request, 'latest'),
  'POST finalized-stream': (request) => stream(request, 'finalized'),
  'POST worker': (request) => sendArchiveBlocks(request),
}

/** Serves a local dataset as a portal or an archive does. Resolves with the number of bytes sent. */
export async function serveLocalDataset(request: LocalRequest): Promise<number> {
  const { req, res, path } = request
  const route = `${req.method} ${path}`
  try {
    if (/^GET \d+\/worker$/.test(route)) return sendText(res, 200, workerUrl(request), { 'cache-control': 'no-store' })
    const handler = Object.hasOwn(handlers, route) ? handlers[route] : undefined
    if (handler) return await handler(request)
    return sendPortalJson(res, 404, { error: 'Not found.' })
  } catch (error) {
    if (!(error instanceof ChainUnreadableError) || res.headersSent) throw error
    return sendPortalJson(res, 503, { error: error.message }, { 'retry-after': '1' })
  }
}

async function readQuery(req: IncomingMessage, res: ServerResponse): Promise<EvmQuery | null> {
  const parsed = EvmQuery.safeParse(await readJsonBody(req))
  if (parsed.success) return parsed.data
  sendPortalJson(res, 400, { error: `The query is not valid. ${z.prettifyError(parsed.error)}` })
  return null
}

async function stream({ req, res, blocks, stallMs }: LocalRequest, tag: 'latest' | 'finalized'): Promise<number> {
  const query = await readQuery(req, res)
  if (!query) return 0
  const deadlineMs = performance.now() + newBlockWaitMs
  for (;;) {
    const [head, fork] = [await blocks.head(tag), tag === 'latest' ? await blocks.forkOf(query) : null]
    if (fork) return sendPortalJson(res, 409, { previousBlocks: fork })
    const headers = headersOf(head, await blocks.head('finalized'))
    if (head && head.number >= query.fromBlock) {
      const last = Math.min(query.toBlock ?? Infinity, head.number)
      return sendLines(res, stopWhenUnreadable(blocks.blocks(query, last)), headers, stallMs)
    }
    // Only a request for the block directly after the head waits.
    const isAtHead = head !== null && head.number + 1 === query.fromBlock
    if (!isAtHead || performance.now() > deadlineMs || res.destroyed) {
      res.writeHead(204, { ...headers, 'access-control-allow-origin': '*' }).end()
      return 0
    }
    await blocks.nextPoll(newBlockPollMs)
  }
}

/** Ends the response early when the chain cannot be read. The blocks sent so far are valid, and the caller requests the rest. */
async function* stopWhenUnreadable<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    if (!(error instanceof ChainUnreadableError)) throw error
  }
}

function headersOf(head: BlockRef | null, finalized: BlockRef | null): Record<string, string> {
  return {
    ...(head ? { 'x-sqd-head-number': String(head.number) } : {}),
    ...(finalized
      ? { 'x-sqd-finalized-head-number': String(finalized.number), 'x-sqd-finalized-head-hash': finalized.hash }
      : {}),
  }
}

/**
 * Returns the URL to which the SDK sends its queries, with the address of this gateway that the caller used. Must not be cached, because
 * it contains the caller's `Host` header.
 */
function workerUrl({ req, dataset, isProxyTrusted }: LocalRequest): string {
  return `${schemeOf(req, isProxyTrusted)}://${req.headers.host ?? 'localhost'}/portal/datasets/${dataset.id}/worker`
}

async function sendArchiveBlocks({ req, res, blocks }: LocalRequest): Promise<number> {
  const query = await readQuery(req, res)
  if (!query) return 0
  const head = await blocks.head('finalized')
  const last = Math.min(query.toBlock ?? Infinity, head?.number ?? -1, query.fromBlock + maxArchiveBlocks - 1)
  if (last < query.fromBlock) return sendPortalJson(res, 400, { error: `Block ${query.fromBlock} is not final yet.` })
  return sendPortalJson(res, 200, await Array.fromAsync(blocks.blocks(query, last)))
}
