import { createServer, type Server } from 'node:http'

/** Starts a node of chain 1 that stays at block 100. */
export function startIdleNode(): Promise<Server> {
  const block = { number: '0x64', hash: `0x${'ab'.repeat(32)}`, parentHash: `0x${'cd'.repeat(32)}` }
  const results: Record<string, unknown> = { eth_chainId: '0x1', eth_blockNumber: '0x64', eth_gasPrice: '0x7' }
  const respond = ({ id, method }: { id: number; method: string }) => ({
    jsonrpc: '2.0',
    id,
    result: results[method] ?? block,
  })
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => {
      const calls = JSON.parse(body) as { id: number; method: string } | { id: number; method: string }[]
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(Array.isArray(calls) ? calls.map(respond) : respond(calls)))
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}
