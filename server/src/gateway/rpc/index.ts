import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'

export type RpcRoute = {
  /** Answers `/rpc/{chain}/{token}`; never rejects. */
  handle: (req: IncomingMessage, res: ServerResponse, chain: string, token: string) => Promise<void>
  /** Ends tracking of upstreams and writes what was counted. */
  close: () => Promise<void>
}

/** The data plane of RPC: `/rpc/{chain}/{token}` (spec 2.11, contract 6.5). */
export function createRpcRoute(app: App): RpcRoute {
  return {
    handle: async (_req, res, chain) => {
      app.log.debug({ chain }, 'no upstream yet')
      res.writeHead(503, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Not available yet' } }))
    },
    close: async () => {},
  }
}
