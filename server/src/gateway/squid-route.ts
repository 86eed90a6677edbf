import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { App } from '../app.ts'
import { addressParser, type AddressParser, type Target } from './address.ts'
import {
  bodyOf,
  noSuchProgram,
  notAnswering,
  sendGatewayError,
  unavailableReason,
  unknownSquid,
  unknownUrl,
  upstreamClosed,
  type GatewayError,
} from './gateway-errors.ts'
import { corsHeaders, preflightHeaders } from './headers.ts'
import { HeldRequests, type HoldingLimits } from './held-requests.ts'
import { IngressMeter } from './ingress-meter.ts'
import { forward } from './proxy.ts'
import type { Route } from './routes-store.ts'
import type { RoutingTable } from './routing-table.ts'
import { forwardUpgrade, refuseUpgrade } from './upgrade.ts'
import { Upstreams, type Upstream } from './upstreams.ts'

type Found = { route: Route; target: Target }
type Refused = { refused: GatewayError; route?: Route }

/** Forwards requests and WebSockets to the programs of squids. */
export class SquidRoute {
  readonly #app: App
  readonly #table: RoutingTable
  readonly #limits: HoldingLimits
  readonly #parse: AddressParser
  readonly #upstreams: Upstreams
  readonly #held: HeldRequests
  readonly #meter: IngressMeter

  constructor(app: App, table: RoutingTable, limits: HoldingLimits) {
    this.#app = app
    this.#table = table
    this.#limits = limits
    this.#parse = addressParser(app.config.gatewayUrl)
    this.#upstreams = new Upstreams(app.directory)
    this.#held = new HeldRequests(table, this.#upstreams, app.directory, limits)
    this.#meter = new IngressMeter(app)
  }

  async handle(req: IncomingMessage, res: ServerResponse, url: string): Promise<void> {
    const target = this.#parse(req.headers.host, url)
    const found = this.#find(target)
    const cors = corsHeaders(found.route?.cors ?? null, req.headers.origin)
    if ('refused' in found) return this.#sendError(res, { ...found, target, cors })
    if (cors && found.route.cors && isPreflight(req)) {
      const requested = req.headers['access-control-request-headers']
      return void res.writeHead(204, [...cors, ...preflightHeaders(found.route.cors, requested)]).end()
    }
    await this.#forward(req, res, found, cors)
  }

  async upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, url: string): Promise<void> {
    const found = this.#find(this.#parse(req.headers.host, url))
    if ('refused' in found) return refuseUpgrade(socket, found.refused.status, bodyOf(found.refused))
    const status = await this.#forwardUpgrade(req, socket, head, found)
    if (found.target.program.kind === 'api')
      this.#meter.count({ squidId: found.route.squidId, status, bytes: 0, elapsedMs: 0 })
  }

  /** Refuses all held requests. */
  stopHolding(): void {
    this.#held.close()
  }

  async close(): Promise<void> {
    await Promise.all([this.#meter.close(), this.#upstreams.close()])
  }

  /** The version and program of a target, or why it cannot be served. */
  #find(target: Target | null): Found | Refused {
    if (!target) return { refused: unknownUrl }
    const route = this.#table.find(target.org, target.reference)
    if (!route) return { refused: unknownSquid(target.reference) }
    const refused = unavailableReason(route) ?? missingProgram(route, target.program)
    return refused ? { refused, route } : { route, target }
  }

  #pick({ route, target }: Found): Upstream | null {
    const current = this.#table.find(target.org, target.reference) ?? route
    return this.#upstreams.pick(current, target.program)
  }

  async #forward(req: IncomingMessage, res: ServerResponse, found: Found, cors: string[] | null): Promise<void> {
    const { route, target } = found
    const outcome = await forward({
      req,
      res,
      path: target.path,
      route,
      cors,
      isProxyTrusted: this.#app.config.SHOAL_TRUST_PROXY,
      pick: () => this.#pick(found),
      avoid: (upstream) => this.#upstreams.avoid(upstream),
      refresh: () => this.#table.refresh(route.squidId),
      wait: this.#waiter(found, res),
      draining: this.#app.draining,
    })
    if ('refused' in outcome) return this.#sendError(res, { ...outcome, route, target, cors })
    this.#held.answered(route.squidId)
    if (target.program.kind === 'api') this.#meter.count({ squidId: route.squidId, ...outcome })
  }

  /** Sends an error and counts it. Requests for a processor's metrics are not traffic of the squid. */
  #sendError(
    res: ServerResponse,
    { refused, route, target, cors }: Refused & { target: Target | null; cors: string[] | null },
  ): void {
    const bytes = res.headersSent || res.destroyed ? 0 : sendGatewayError(res, refused, cors ?? [])
    if (route && target?.program.kind === 'api')
      this.#meter.count({ squidId: route.squidId, status: refused.status, bytes, elapsedMs: 0 })
  }

  /** Resolves with the HTTP status that the caller received. */
  async #forwardUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer, found: Found): Promise<number> {
    const { route, target } = found
    const { draining, config } = this.#app
    const wait = this.#waiter(found, socket)
    const refuse = (error: GatewayError) => {
      refuseUpgrade(socket, error.status, bodyOf(error))
      return error.status
    }
    for (let attempts = 0; ;) {
      const upstream = this.#pick(found)
      const outcome = upstream
        ? await forwardUpgrade({
            req,
            socket,
            head,
            upstream,
            path: target.path,
            isProxyTrusted: config.SHOAL_TRUST_PROXY,
            draining,
          })
        : 'unreachable'
      if (typeof outcome === 'number') return outcome
      if (outcome === 'interrupted' && attempts > 0) return refuse(upstreamClosed(route))
      if (upstream && outcome === 'unreachable') this.#upstreams.avoid(upstream)
      const refused = socket.destroyed ? upstreamClosed(route) : await wait(head.length)
      if (refused) return refuse(refused)
      if (outcome === 'interrupted') attempts += 1
    }
  }

  /** Returns how a request waits for its squid; that resolves with an error when the request should not be retried. */
  #waiter({ route, target }: Found, stream: ServerResponse | Duplex) {
    const endMs = performance.now() + this.#limits.heldMs
    const onDisconnect = (listener: () => void) => {
      stream.once('close', listener)
      return () => void stream.off('close', listener)
    }
    let hasWaited = false
    return async (bytes: number): Promise<GatewayError | null> => {
      const current = this.#table.find(target.org, target.reference) ?? route
      // Clients that scrape metrics retry on their own.
      const isHeld = target.program.kind === 'api'
      if (!isHeld && !hasWaited) await this.#table.refresh(route.squidId).catch(() => undefined)
      const mayRetry = isHeld ? await this.#held.wait({ route: current, bytes, endMs, onDisconnect }) : !hasWaited
      hasWaited = true
      const found = this.#find(target)
      if ('refused' in found) return found.refused
      return mayRetry ? null : notAnswering(found.route)
    }
  }
}

const isPreflight = (req: IncomingMessage): boolean =>
  req.method === 'OPTIONS' && Boolean(req.headers['access-control-request-method'])

function missingProgram(route: Route, program: Target['program']): GatewayError | null {
  if (program.kind === 'processor')
    return route.processors.includes(program.name) ? null : noSuchProgram(route, `processor ${program.name}`)
  return route.apiReplicas === 0 ? noSuchProgram(route, 'api') : null
}
