import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'
import { datasetsOf, datasetSourceOf } from '../../modules/portal/index.ts'
import { versionOf } from '../rpc/http.ts'
import { openServices } from '../rpc/services.ts'
import { maxStallMs } from '../../ports/write-response.ts'
import { PortalCallers } from './callers.ts'
import { EvmDataset } from './evm-dataset.ts'
import { maxBodyBytes, sendPortalJson } from './http.ts'
import { PortalMeter } from './meter.ts'
import { serveLocalDataset } from './local-dataset-route.ts'
import { Relay } from './relay.ts'

export type PortalRoute = {
  /** Handles `/portal/datasets/{datasetId}/{restPath}`, where `restPath` is for example `stream` or `finalized-head`. Never rejects. */
  handle: (req: IncomingMessage, res: ServerResponse, datasetId: string, restPath: string) => Promise<void>
  /** Flushes counts and closes connections. */
  close: () => Promise<void>
}

/** `maxPerCaller`: concurrent requests. `stallMs`: how long a caller may accept no data before its response is destroyed. */
type PortalLimits = { maxPerCaller: number; stallMs: number }
const defaultLimits: PortalLimits = { maxPerCaller: 64, stallMs: maxStallMs }

/** Creates the route of the Portal, `/portal/datasets/{id}/…`, which is relayed to a portal or served from nodes. */
export function createPortalRoute(app: App, { maxPerCaller, stallMs } = defaultLimits): PortalRoute {
  const datasets = datasetsOf(app)
  const services = openServices(app)
  const meter = new PortalMeter(app)
  const { SHOAL_RPC_RATE: callsPerSecond, SHOAL_TRUST_PROXY: isProxyTrusted } = app.config
  const callers = new PortalCallers({ concurrency: maxPerCaller, callsPerSecond }, isProxyTrusted)
  const relay = app.config.SHOAL_PORTAL_URL ? new Relay(app.config.SHOAL_PORTAL_URL, stallMs) : null

  const serve = async (req: IncomingMessage, res: ServerResponse, datasetId: string, rest: string): Promise<void> => {
    if (req.method === 'OPTIONS') return void res.writeHead(204, preflightHeaders).end()
    if (!/^[\w/-]*(?:\?.*)?$/.test(rest)) return void sendPortalJson(res, 404, { error: 'Not found.' })
    const dataset = datasets.find(datasetId)
    if (!dataset) return void sendPortalJson(res, 404, { error: `There is no dataset ${datasetId.slice(0, 100)}.` })
    const source = datasetSourceOf(app.config, dataset)
    const service = source === 'rpc' && dataset.chain ? services.find(dataset.chain.id) : null
    const caller = callers.admit(req, res, service ? maxBodyBytes(req) : 0)
    if (!caller) return void sendPortalJson(res, 429, tooMany, retryLater)
    const request = { req, res, dataset, path: rest.split('?')[0] ?? '', isProxyTrusted, stallMs }
    if (service)
      meter.count(
        dataset.id,
        versionOf(req),
        await serveLocalDataset({ ...request, blocks: new EvmDataset(service, caller.waitForRate) }),
      )
    else if (source === 'portal' && relay)
      meter.count(dataset.id, versionOf(req), await relay.forward(req, res, dataset.id, rest))
    else
      sendPortalJson(res, 503, {
        error: `${dataset.title} is not available: neither a portal nor a node of the chain is configured. The operator can add one.`,
      })
  }

  return {
    handle: async (req, res, datasetId, restPath) => {
      try {
        await serve(req, res, decodeURIComponent(datasetId), restPath.replace(/^\//, ''))
      } catch (error) {
        if (!res.destroyed) app.log.error({ err: error, dataset: datasetId }, 'Portal request failed')
        if (res.headersSent) res.destroy()
        else sendPortalJson(res, 500, { error: 'Something failed on our side.' })
      }
    },
    close: async () => {
      await meter.close()
      await relay?.close()
      await services.close()
    },
  }
}

const tooMany = { error: 'Too many requests. Try again in a few seconds.' }
const retryLater = { 'retry-after': '5' }

const preflightHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': '*',
  'access-control-max-age': '86400',
}
