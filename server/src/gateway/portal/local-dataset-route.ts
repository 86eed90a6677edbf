import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Dataset } from '../../modules/portal/index.ts'
import { ChainUnreadableError, type BlockRef, type EvmDataset } from './evm-dataset.ts'
import { EvmQuery } from './evm-query.ts'
import { readJson, sendJson, sendLines, sendText } from './http.ts'

/** How long a caller at the head waits for a block before it is told that there is none. */
const newBlockWaitMs = 5_000
const newBlockPollMs = 1_000
/** Blocks in one answer of the archive's protocol, which is not streamed. */
const archiveBlocks = 500

type LocalRequest = { req: IncomingMessage; res: ServerResponse; dataset: Dataset; blocks: EvmDataset; path: string }

/**
 * Answers for a dataset of our own as the Portal does: `metadata`, `head`, `finalized-head`, `height`, `stream` and
 * `finalized-stream`; and as the archives before it do for the SDK's `setGateway`: `height`, `{from}/worker` and its POST.
 * Answers how many bytes were sent.
 */
export async function serveLocalDataset(given: LocalRequest): Promise<number> {
  const { req, res, dataset, blocks, path } = given
  const route = `${req.method} ${path}`
  try {
    if (route === 'GET metadata')
      return sendJson(res, 200, { dataset: dataset.id, aliases: [], real_time: true, start_block: 0 })
    if (route === 'GET head') return sendJson(res, 200, await blocks.head('latest'))
    if (route === 'GET finalized-head') return sendJson(res, 200, await blocks.head('finalized'))
    if (route === 'GET height' || route === 'GET finalized-stream/height')
      return sendText(res, 200, String((await blocks.head('finalized'))?.number ?? -1))
    if (route === 'GET stream/height') return sendText(res, 200, String((await blocks.head('latest'))?.number ?? -1))
    if (route === 'POST stream') return await stream(given, 'latest')
    if (route === 'POST finalized-stream') return await stream(given, 'finalized')
    if (/^GET \d+\/worker$/.test(route)) return sendText(res, 200, workerUrl(req, dataset))
    if (route === 'POST worker') return await archive(given)
    return sendJson(res, 404, { error: `A dataset has no ${path || 'page of its own'}.` })
  } catch (error) {
    if (!(error instanceof ChainUnreadableError) || res.headersSent) throw error
    return sendJson(res, 503, { error: error.message }, { 'retry-after': '1' })
  }
}

async function readQuery(req: IncomingMessage, res: ServerResponse): Promise<EvmQuery | null> {
  const parsed = EvmQuery.safeParse(await readJson(req))
  if (parsed.success) return parsed.data
  sendJson(res, 400, { error: `The query is not valid. ${z.prettifyError(parsed.error)}` })
  return null
}

async function stream({ req, res, blocks }: LocalRequest, tag: 'latest' | 'finalized'): Promise<number> {
  const query = await readQuery(req, res)
  if (!query) return 0
  const until = performance.now() + newBlockWaitMs
  for (;;) {
    const [head, fork] = [await blocks.head(tag), tag === 'latest' ? await blocks.forkOf(query) : null]
    if (fork) return sendJson(res, 409, { previousBlocks: fork })
    const headers = headersOf(head, await blocks.head('finalized'))
    if (head && head.number >= query.fromBlock) {
      const last = Math.min(query.toBlock ?? Infinity, head.number)
      return sendLines(res, stopWhenUnreadable(blocks.blocks(query, last)), headers)
    }
    // Only somebody who waits for the very next block is at the head.
    const isAtHead = head !== null && head.number + 1 === query.fromBlock
    if (!isAtHead || performance.now() > until || res.destroyed) {
      res.writeHead(204, { ...headers, 'access-control-allow-origin': '*' }).end()
      return 0
    }
    await blocks.news(newBlockPollMs)
  }
}

/** What was sent is true; the caller asks for the rest when the answer ends. */
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

/** Where the SDK sends its queries: here again. */
function workerUrl(req: IncomingMessage, dataset: Dataset): string {
  const scheme = req.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  return `${scheme}://${req.headers.host ?? 'localhost'}/portal/datasets/${dataset.id}/worker`
}

async function archive({ req, res, blocks }: LocalRequest): Promise<number> {
  const query = await readQuery(req, res)
  if (!query) return 0
  const head = await blocks.head('finalized')
  const last = Math.min(query.toBlock ?? Infinity, head?.number ?? -1, query.fromBlock + archiveBlocks - 1)
  if (last < query.fromBlock) return sendJson(res, 400, { error: `Block ${query.fromBlock} is not final yet.` })
  return sendJson(res, 200, await Array.fromAsync(blocks.blocks(query, last)))
}
