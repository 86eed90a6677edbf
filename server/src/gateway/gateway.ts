import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { App } from '../app.ts'
import type { RequestHandlers } from '../ports/listener.ts'
import { healthResponse, sendHealth } from '../health/health.ts'
import { openDomainTable } from './domain-table.ts'
import { createPortalRoute } from './portal/index.ts'
import { RouteReports } from './route-reports.ts'
import { openRoutingTable } from './routing-table.ts'
import { createRpcRoute } from './rpc/index.ts'
import { defaultSquidRouteLimits, SquidRoute } from './squid-route.ts'

/** The handlers of the gateway's port. Close the gateway after the listener of its port. */
export type Gateway = Required<RequestHandlers> & {
  /** Whether the name is an active domain of an organization. */
  servesDomain: (name: string) => boolean
  close: () => Promise<void>
}

/** Serves squids, RPC endpoints and datasets, on an origin separate from the console's. */
export async function createGateway(app: App, limits = defaultSquidRouteLimits): Promise<Gateway> {
  const reports = new RouteReports(app)
  const table = await openRoutingTable(app, (squidId, route) => reports.report(squidId, route?.generation ?? null))
  await reports.beat()
  const domains = await openDomainTable(app)
  const squids = new SquidRoute(app, table, limits)
  const rpc = createRpcRoute(app)
  const portal = createPortalRoute(app)
  if (app.componentStates)
    app.componentStates.gateway = () => ({ routesReadMs: table.msSinceReload(), problem: reports.problem() })

  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const url = collapseSlashes(req.url ?? '/')
    // The gateway does not serve its own pages and services at domains of organizations.
    const domain = domains.find(req.headers.host, url)
    if (domain) return await squids.handle(req, res, domain)
    const [, service, second = '', third = '', rest = ''] =
      /^\/(rpc|portal)(?:\/([^/?]+))?(?:\/([^/?]+))?(.*)$/.exec(url) ?? []
    if (isOwnPage(url)) {
      const health = await healthResponse(app, req)
      if (health) return sendHealth(req, res, health)
    }
    if (service === 'rpc' && third) return await rpc.handle(req, res, second, third)
    if (service === 'portal' && second === 'datasets' && third) return await portal.handle(req, res, third, rest)
    return await squids.handle(req, res, squids.parse(req.headers.host, url))
  }

  const upgrade = async (req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    socket.on('error', () => socket.destroy())
    const url = collapseSlashes(req.url ?? '/')
    const domain = domains.find(req.headers.host, url)
    if (domain) return await squids.upgrade(req, socket, head, domain)
    const [, chain, token] = /^\/rpc\/([^/?]+)\/([^/?]+)/.exec(url) ?? []
    if (chain && token) return await rpc.upgrade({ req, socket, head }, chain, token)
    return await squids.upgrade(req, socket, head, squids.parse(req.headers.host, url))
  }

  return {
    request: (req, res) => {
      handle(req, res).catch((error: unknown) => {
        app.log.error({ err: error }, 'gateway request failed')
        if (res.headersSent) res.destroy()
        else sendJson(res, 500, { error: 'Something failed on our side.', code: 'UNEXPECTED' })
      })
    },
    upgrade: (req, socket, head) => {
      upgrade(req, socket, head).catch(() => socket.destroy())
    },
    servesDomain: (name) => domains.has(name),
    closeUpgraded: () => rpc.closeSockets(),
    close: async () => {
      squids.stopHolding()
      domains.close()
      await reports.close()
      await Promise.all([table.close(), squids.close(), rpc.close(), portal.close()])
    },
  }
}

/** Whether the URL is a page of the gateway itself. No squid has such a path. */
const isOwnPage = (url: string): boolean => /^\/(?:healthz|readyz|metrics)?(?:\?|$)/.test(url)

/** Replaces several leading slashes by one. */
const collapseSlashes = (url: string): string => (url.startsWith('//') ? url.replace(/^\/+/, '/') : url)

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))
}
