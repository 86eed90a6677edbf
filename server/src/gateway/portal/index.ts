import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'

export type PortalRoute = {
  /** Answers `/portal/datasets/{datasetId}/{restPath}`, as in `stream` or `finalized-stream/height`; never rejects. */
  handle: (req: IncomingMessage, res: ServerResponse, datasetId: string, restPath: string) => Promise<void>
  /** Writes what was counted. */
  close: () => Promise<void>
}

/** The data plane of the Portal: `/portal/datasets/{id}/…` (contract 6.6). */
export function createPortalRoute(app: App): PortalRoute {
  return {
    handle: async (_req, res, datasetId) => {
      app.log.debug({ datasetId }, 'no dataset yet')
      res.writeHead(503, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: 'Not available yet' }))
    },
    close: async () => {},
  }
}
