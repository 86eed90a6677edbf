import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SimBehaviour } from '../behaviour.ts'
import type { SimProgress } from '../sim-progress.ts'

/** What determines the responses of a simulated program. */
export type SimProgram = {
  behaviour: Pick<SimBehaviour, 'response'>
  /** The progress of a processor; null for other programs. */
  progress: () => SimProgress | null
}

/** Responds with metrics for processors and with GraphQL for other containers. */
export function respond(program: SimProgram, request: IncomingMessage, response: ServerResponse): void {
  const progress = program.progress()
  const path = request.url?.split('?')[0]
  const { response: fixed } = program.behaviour
  if (fixed) response.writeHead(fixed.status).end(fixed.text)
  else if (progress && path === '/metrics' && request.method === 'GET') {
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8').end(metricsText(progress))
  } else if (!progress && path === '/graphql' && request.method === 'POST') {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json').end('{"data":{"__typename":"Query"}}')
    })
  } else {
    response.writeHead(404).end()
  }
}

/** Returns metrics in the format of the SDK. */
function metricsText({ lastBlock, headBlock, blocksPerSecond, rpcResponses }: SimProgress): string {
  const blocksLeft = headBlock - lastBlock
  const gauges = {
    sqd_processor_last_block: lastBlock,
    sqd_processor_chain_height: headBlock,
    sqd_processor_mapping_blocks_per_second: blocksPerSecond,
    sqd_processor_sync_eta_seconds: blocksPerSecond > 0 ? Math.ceil(blocksLeft / blocksPerSecond) : 0,
    sqd_processor_sync_ratio: headBlock > 0 ? lastBlock / headBlock : 0,
  }
  const rpcMetrics =
    rpcResponses === undefined
      ? ''
      : `sqd_rpc_request_count{url="http://node.example",kind="success"} ${rpcResponses}\n`
  const gaugeLines = Object.entries(gauges).map(([name, value]) => `# TYPE ${name} gauge\n${name} ${value}\n`)
  return gaugeLines.join('') + rpcMetrics
}
