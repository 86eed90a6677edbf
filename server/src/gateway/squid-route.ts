import { ConcurrencyLimit } from '@shoal/runtime'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { App } from '../app.ts'
import { rejectUpgrade } from '../ports/reject-upgrade.ts'
import { addressParser, type AddressParser, type Target } from './address.ts'
import {
  bodyOf,
  noSuchProgram,
  isOutage,
  notResponding,
  sendGatewayError,
  tooManySockets,
  unavailableReason,
  unknownSquid,
  unknownUrl,
  callerDisconnected,
  connectionClosed,
  type GatewayError,
} from './gateway-errors.ts'
import { corsHeaders, preflightHeaders } from './headers.ts'
import { defaultHoldingLimits, HeldRequests, type HoldingLimits } from './held-requests.ts'
import { IngressMeter, type ServedRequest } from './ingress-meter.ts'
import { forward, type ForwardOptions } from './proxy.ts'
import type { Route } from './routes-store.ts'
import type { RoutingTable } from './routing-table.ts'
import { forwardUpgrade } from './upgrade.ts'
import { SquidPrograms, type SquidProgram } from './squid-programs.ts'
import { maxStallMs } from '../ports/write-response.ts'

type ResolvedTarget = { route: Route; target: Target }
type Rejection = { error: GatewayError; route?: Route }

/** See `ForwardOptions`. */
export type SquidRouteLimits = HoldingLimits & Pick<ForwardOptions, 'stallMs' | 'maxInFlight'>
export const defaultSquidRouteLimits: SquidRouteLimits = {
  ...defaultHoldingLimits,
  stallMs: maxStallMs,
  // Four times the connections to a program.
  maxInFlight: 512,
}

/** Forwards requests and WebSockets to the programs of squids. */
export class SquidRoute {
  readonly #app: App
  readonly #table: RoutingTable
  readonly #limits: SquidRouteLimits
  /** Returns what a URL of the gateway's own name addresses; null if nothing. */
  readonly parse: AddressParser
  readonly #programs: SquidPrograms
  readonly #held: HeldRequests
  readonly #meter: IngressMeter
  /** Limits the open WebSockets of each organization. */
  readonly #sockets: ConcurrencyLimit

  constructor(app: App, table: RoutingTable, limits: SquidRouteLimits) {
    this.#app = app
    this.#table = table
    this.#limits = limits
    this.#sockets = new ConcurrencyLimit(app.config.SHOAL_SQUID_SOCKETS_PER_ORG)
    this.parse = addressParser(app.config.gatewayUrl)
    this.#programs = new SquidPrograms(app.directory)
    this.#held = new HeldRequests(table, this.#programs, app.directory, limits)
    this.#meter = new IngressMeter(app)
  }

  async handle(req: IncomingMessage, res: ServerResponse, target: Target | null): Promise<void> {
    const found = this.#find(target)
    const cors = corsHeaders(found.route?.cors ?? null, req.headers.origin)
    if ('error' in found) return this.#sendError(res, { ...found, target, cors })
    if (cors && found.route.cors && isPreflight(req)) {
      const requested = req.headers['access-control-request-headers']
      return void res.writeHead(204, [...cors, ...preflightHeaders(found.route.cors, requested)]).end()
    }
    await this.#forward(req, res, found, cors)
  }

  async upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, target: Target | null): Promise<void> {
    const found = this.#find(target)
    if ('error' in found) return rejectUpgrade(socket, found.error.status, bodyOf(found.error))
    const { route } = found
    const end = this.#sockets.admit(route.org)
    if (end) socket.once('close', end)
    const outcome = end
      ? await this.#forwardUpgrade(req, socket, head, found)
      : rejectWith(socket, tooManySockets(route, this.#app.config.SHOAL_SQUID_SOCKETS_PER_ORG))
    if (found.target.program.kind === 'api')
      this.#meter.count({ squidId: route.squidId, ...outcome, bytes: 0, elapsedMs: 0 })
  }

  /** Rejects all held requests. */
  stopHolding(): void {
    this.#held.close()
  }

  async close(): Promise<void> {
    await Promise.all([this.#meter.close(), this.#programs.close()])
  }

  /** Returns the version and program of a target, or the error response if it cannot be served. */
  #find(target: Target | null): ResolvedTarget | Rejection {
    if (!target) return { error: unknownUrl }
    const route = this.#table.find(target.org, target.reference)
    if (!route) return { error: unknownSquid(target.reference) }
    const error = unavailableReason(route) ?? missingProgram(route, target.program)
    return error ? { error, route } : { route, target }
  }

  #pick({ route, target }: ResolvedTarget): SquidProgram | null {
    const current = this.#table.find(target.org, target.reference) ?? route
    return this.#programs.pick(current, target.program)
  }

  async #forward(
    req: IncomingMessage,
    res: ServerResponse,
    found: ResolvedTarget,
    cors: string[] | null,
  ): Promise<void> {
    const { route, target } = found
    const outcome = await forward({
      req,
      res,
      path: target.path,
      route,
      cors,
      isProxyTrusted: this.#app.config.SHOAL_TRUST_PROXY,
      pick: () => this.#pick(found),
      avoid: (program) => this.#programs.avoid(program),
      refresh: () => this.#table.refresh(route.squidId),
      wait: this.#waiter(found, res),
      draining: this.#app.draining,
      stallMs: this.#limits.stallMs,
      maxInFlight: this.#limits.maxInFlight,
    })
    if ('error' in outcome) return this.#sendError(res, { ...outcome, route, target, cors })
    this.#held.recordResponse(route.squidId)
    if (target.program.kind === 'api') this.#meter.count({ squidId: route.squidId, ...outcome })
  }

  /** Sends an error and counts it. Requests for a processor's metrics and to Hasura are not counted. */
  #sendError(
    res: ServerResponse,
    { error, route, target, cors }: Rejection & { target: Target | null; cors: string[] | null },
  ): void {
    const isFailure = isOutage(error) && !res.destroyed
    const bytes = res.headersSent || res.destroyed ? 0 : sendGatewayError(res, error, cors ?? [])
    if (route && target?.program.kind === 'api')
      this.#meter.count({ squidId: route.squidId, status: error.status, bytes, elapsedMs: 0, isFailure })
  }

  /** Resolves with the HTTP status of the response, and whether the squid or the gateway failed. */
  async #forwardUpgrade(
    req: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    found: ResolvedTarget,
  ): Promise<Pick<ServedRequest, 'status' | 'isFailure'>> {
    const { route, target } = found
    const { draining, config } = this.#app
    const wait = this.#waiter(found, socket)
    for (let attempts = 0; ;) {
      const program = this.#pick(found)
      const outcome = program
        ? await forwardUpgrade({
            req,
            socket,
            head,
            program,
            path: target.path,
            isProxyTrusted: config.SHOAL_TRUST_PROXY,
            draining,
          })
        : 'unreachable'
      if (typeof outcome === 'number') return { status: outcome, isFailure: outcome >= 500 }
      if (outcome === 'interrupted' && attempts > 0) return rejectWith(socket, connectionClosed(route))
      if (program && outcome === 'unreachable') this.#programs.avoid(program)
      const error = socket.destroyed ? callerDisconnected : await wait(head.length)
      if (error) return rejectWith(socket, error)
      if (outcome === 'interrupted') attempts += 1
    }
  }

  /** Returns a function that waits until the request may be retried, and resolves with an error if it should not be retried. */
  #waiter({ route, target }: ResolvedTarget, stream: ServerResponse | Duplex) {
    const deadlineMs = performance.now() + this.#limits.maxWaitMs
    const onDisconnect = (listener: () => void) => {
      stream.once('close', listener)
      return () => void stream.off('close', listener)
    }
    let hasWaited = false
    return async (bytes: number): Promise<GatewayError | null> => {
      const current = this.#table.find(target.org, target.reference) ?? route
      // Clients that scrape metrics retry on their own. Requests to Hasura are not held either.
      const isHeld = target.program.kind === 'api'
      if (!isHeld && !hasWaited) await this.#table.refresh(route.squidId).catch(() => undefined)
      const mayRetry = isHeld ? await this.#held.wait({ route: current, bytes, deadlineMs, onDisconnect }) : !hasWaited
      hasWaited = true
      const found = this.#find(target)
      if ('error' in found) return found.error
      return mayRetry ? null : notResponding(found.route)
    }
  }
}

const isPreflight = (req: IncomingMessage): boolean =>
  req.method === 'OPTIONS' && Boolean(req.headers['access-control-request-method'])

/** Rejects an upgrade. Returns the HTTP status, and whether the squid or the gateway failed. */
function rejectWith(socket: Duplex, error: GatewayError): Pick<ServedRequest, 'status' | 'isFailure'> {
  const isFailure = isOutage(error) && !socket.destroyed
  rejectUpgrade(socket, error.status, bodyOf(error))
  return { status: error.status, isFailure }
}

function missingProgram(route: Route, program: Target['program']): GatewayError | null {
  if (program.kind === 'processor')
    return route.processors.includes(program.name) ? null : noSuchProgram(route, `processor ${program.name}`)
  const replicas = program.kind === 'api' ? route.apiReplicas : route.hasuraReplicas
  return replicas === 0 ? noSuchProgram(route, program.kind === 'api' ? 'api' : 'Hasura') : null
}
