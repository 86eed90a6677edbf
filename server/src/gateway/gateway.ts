import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { App } from '../app.ts'
import type { RequestHandlers } from '../listener.ts'
import { healthResponse, sendHealth } from '../health/health.ts'
import { addressParser, type Target } from './address.ts'
import {
  bodyOf,
  noSuchAddress,
  upstreamClosed,
  noSuchProgram,
  notAnswering,
  sendAnswer,
  unknownSquid,
  whyClosed,
  type GatewayError,
} from './answers.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { IngressMeter } from './meter.ts'
import { defaultHoldingLimits, Holding, type HoldingLimits } from './holding.ts'
import { createPortalRoute } from './portal/index.ts'
import { forward } from './proxy.ts'
import { RouteReports } from './route-reports.ts'
import type { Route } from './routes-store.ts'
import { openRoutingTable } from './routing-table.ts'
import { createRpcRoute } from './rpc/index.ts'
import { forwardUpgrade, refuseUpgrade } from './upgrade.ts'
import { Upstreams } from './upstreams.ts'

/** What answers on the gateway's port; it is closed after its listener. */
export type Gateway = Required<RequestHandlers> & { close: () => Promise<void> }

/** Where squids, RPC endpoints and datasets are reached: an origin of its own, apart from the console's (design 3). */
export async function createGateway(app: App, pace: HoldingLimits = defaultHoldingLimits): Promise<Gateway> {
  const reports = new RouteReports(app)
  const table = await openRoutingTable(app, (squidId, route) => reports.note(squidId, route?.generation ?? null))
  await reports.beat()
  const upstreams = new Upstreams(app.directory)
  const holding = new Holding(table, upstreams, app.directory, pace)
  const meter = new IngressMeter(app)
  const rpc = createRpcRoute(app)
  const portal = createPortalRoute(app)
  const parse = addressParser(app.config.gatewayUrl)
  const isProxyTrusted = app.config.SHOAL_TRUST_PROXY
  if (app.vitals) app.vitals.gateway = () => ({ routesReadMs: table.readMs(), problem: reports.problem() })

  /** The version and program an address means, or what to say instead. */
  const find = (target: Target | null): { route: Route; target: Target } | { refused: GatewayError; route?: Route } => {
    if (!target) return { refused: noSuchAddress }
    const route = table.find(target.org, target.reference)
    if (!route) return { refused: unknownSquid(target.reference) }
    const closed = whyClosed(route)
    if (closed) return { refused: closed, route }
    const { program } = target
    if (program.kind === 'processor' && !route.processors.includes(program.name))
      return { refused: noSuchProgram(route, `processor ${program.name}`), route }
    if (program.kind === 'api' && route.apiReplicas === 0) return { refused: noSuchProgram(route, 'api'), route }
    return { route, target }
  }

  /** How a request waits for its squid: answers what to tell the caller when that is not worth it. */
  const waiting = (route: Route, target: Target, stream: IncomingMessage | ServerResponse | Duplex) => {
    const endMs = performance.now() + pace.heldMs
    const onGone = (listener: () => void) => {
      stream.once('close', listener)
      return () => void stream.off('close', listener)
    }
    let hasWaited = false
    return async (bytes: number): Promise<GatewayError | null> => {
      const current = table.find(target.org, target.reference) ?? route
      // What shows metrics asks again by itself.
      const isHeld = target.program.kind === 'api'
      if (!isHeld && !hasWaited) await table.refresh(route.squidId).catch(() => undefined)
      const isWorthIt = isHeld ? await holding.wait({ route: current, bytes, endMs, onGone }) : !hasWaited
      hasWaited = true
      const found = find(target)
      return 'refused' in found ? found.refused : isWorthIt ? null : notAnswering(found.route)
    }
  }

  const toSquid = async (req: IncomingMessage, res: ServerResponse, url: string): Promise<void> => {
    const asked = parse(req.headers.host, url)
    // What a processor says of itself is not traffic of the squid.
    const isCounted = asked?.program.kind === 'api'
    const found = find(asked)
    const cors = corsHeaders(found.route?.cors ?? null, req.headers.origin)
    if ('refused' in found) {
      const bytes = sendAnswer(res, found.refused, cors ?? [])
      if (found.route && isCounted) meter.count(found.route.squidId, found.refused.status, bytes, 0)
      return
    }
    const { route, target } = found
    if (cors && route.cors && req.method === 'OPTIONS' && req.headers['access-control-request-method'])
      return void res
        .writeHead(204, [...cors, ...preflightHeaders(route.cors, req.headers['access-control-request-headers'])])
        .end()
    const outcome = await forward({
      req,
      res,
      path: target.path,
      route,
      cors,
      isProxyTrusted,
      pick: () => upstreams.pick(table.find(target.org, target.reference) ?? route, target.program),
      avoid: (upstream) => upstreams.avoid(upstream),
      refresh: () => table.refresh(route.squidId),
      wait: waiting(route, target, res),
      draining: app.draining,
    })
    if ('refused' in outcome) {
      const bytes = res.headersSent || res.destroyed ? 0 : sendAnswer(res, outcome.refused, cors ?? [])
      if (isCounted) meter.count(route.squidId, outcome.refused.status, bytes, 0)
      return
    }
    holding.answered(route.squidId)
    if (isCounted) meter.count(route.squidId, outcome.status, outcome.bytes, outcome.elapsedMs)
  }

  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const url = canonical(req.url ?? '/')
    const [, first, second = '', third = '', rest = ''] =
      /^\/(rpc|portal)(?:\/([^/?]+))?(?:\/([^/?]+))?(.*)$/.exec(url) ?? []
    if (isOwnPage(url)) {
      const health = await healthResponse(app, req)
      if (health) return sendHealth(req, res, health)
    }
    if (first === 'rpc' && third) return await rpc.handle(req, res, second, third)
    if (first === 'portal' && second === 'datasets' && third) return await portal.handle(req, res, third, rest)
    return await toSquid(req, res, url)
  }

  const upgrade = async (req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    socket.on('error', () => socket.destroy())
    const url = canonical(req.url ?? '/')
    const [, chain, token] = /^\/rpc\/([^/?]+)\/([^/?]+)/.exec(url) ?? []
    if (chain && token) return await rpc.upgrade({ req, socket, head }, chain, token)
    const asked = parse(req.headers.host, url)
    const found = find(asked)
    if ('refused' in found) return refuseUpgrade(socket, found.refused.status, bodyOf(found.refused))
    const { route, target } = found
    const wait = waiting(route, target, socket)
    const lead = async (sendings = 0): Promise<number> => {
      const upstream = upstreams.pick(table.find(target.org, target.reference) ?? route, target.program)
      const led = upstream
        ? await forwardUpgrade(req, socket, head, upstream, target.path, isProxyTrusted, app.draining)
        : 'not there'
      if (typeof led === 'number') return led
      if (led === 'broken off' && sendings > 0) return refuse(upstreamClosed(route))
      if (upstream && led === 'not there') upstreams.avoid(upstream)
      const refused = socket.destroyed ? upstreamClosed(route) : await wait(head.length)
      return refused ? refuse(refused) : await lead(sendings + (led === 'broken off' ? 1 : 0))
    }
    const refuse = (answer: GatewayError) => {
      refuseUpgrade(socket, answer.status, bodyOf(answer))
      return answer.status
    }
    const status = await lead()
    if (target.program.kind === 'api') meter.count(route.squidId, status, 0, 0)
  }

  return {
    request: (req, res) => {
      handle(req, res).catch((error: unknown) => {
        app.log.error({ err: error }, 'the gateway failed on a request')
        if (res.headersSent) res.destroy()
        else sendJson(res, 500, { error: 'Something failed on our side.', code: 'UNEXPECTED' })
      })
    },
    upgrade: (req, socket, head) => {
      upgrade(req, socket, head).catch(() => socket.destroy())
    },
    closeUpgraded: () => rpc.closeSockets(),
    close: async () => {
      holding.close()
      await reports.close()
      await Promise.all([table.close(), meter.close(), rpc.close(), portal.close(), upstreams.close()])
    },
  }
}

/** What no squid can have as its address. */
const isOwnPage = (url: string): boolean => /^\/(?:healthz|readyz|metrics)?(?:\?|$)/.test(url)

/** Double slashes at the beginning are tolerated. */
const canonical = (url: string): string => (url.startsWith('//') ? url.replace(/^\/+/, '/') : url)

function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))
}
