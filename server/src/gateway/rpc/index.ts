import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'
import { unknownToken, type RpcRejection } from './accounts.ts'
import { Admission, type RpcCaller } from './admission.ts'
import type { ChainService } from './chain-service.ts'
import { sendBatch, sendError, sendNoContent, sendOutcome, sendPreflight, versionOf } from './http.ts'
import { cancelStream, codes, isInvalidCall, parseCalls } from './json-rpc.ts'
import type { RpcCall, InvalidCall, RpcOutcome } from './json-rpc.ts'
import { RequestBodies } from './request-bodies.ts'
import { ResultMemory, tooManyResults } from './result-memory.ts'
import { openServices, type Services } from './services.ts'
import type { SocketLimits } from './sockets/limits.ts'
import type { SocketCounts } from './sockets/metrics.ts'
import { rejectWebSocket, Sockets, type Upgrade } from './sockets/sockets.ts'

/** Creates the RPC route. `limits` replace those of WebSocket connections in tests. */
export const createRpcRoute = (app: App, limits: Partial<SocketLimits> = {}): RpcRoute => new RpcRoute(app, limits)

type AdmittedRequest = { service: ChainService; caller: RpcCaller }

/** Serves JSON-RPC calls and WebSockets at `/rpc/{chain}/{token}` (spec 2.11). */
export class RpcRoute {
  readonly #app: App
  readonly #services: Services
  readonly #admission: Admission
  readonly #sockets: Sockets
  readonly #bodies = new RequestBodies()
  readonly #results = new ResultMemory()

  constructor(app: App, limits: Partial<SocketLimits>) {
    this.#app = app
    this.#services = openServices(app)
    this.#admission = new Admission(app)
    this.#sockets = new Sockets(app, this.#admission, limits)
  }

  /** Handles requests to `/rpc/{chain}/{token}`; never rejects. */
  async handle(req: IncomingMessage, res: ServerResponse, chain: string, token: string): Promise<void> {
    try {
      await this.#handle(req, res, chain, token)
    } catch (error) {
      if (!res.destroyed) this.#app.log.error({ err: error, chain }, 'RPC request failed')
      if (res.headersSent) res.destroy()
      else sendError(res, 500, 'null', internalError)
    }
  }

  /** Opens a WebSocket at `/rpc/{chain}/{token}`, or rejects it with an HTTP response. Failures do not reject the promise. */
  async upgrade(upgrade: Upgrade, chain: string, token: string): Promise<void> {
    try {
      // Opening a connection is charged like a call.
      const admitted = await this.#admit(upgrade.req, chain, token, 1)
      if ('error' in admitted) rejectWebSocket(upgrade.socket, admitted)
      else this.#sockets.accept(upgrade, token, admitted.service, admitted.caller)
    } catch (error) {
      this.#app.log.error({ err: error, chain }, 'failed to open an RPC WebSocket')
      rejectWebSocket(upgrade.socket, { status: 500, error: internalError })
    }
  }

  /** Returns the numbers of open WebSocket connections and subscriptions by chain. */
  socketCounts(): SocketCounts[] {
    return this.#sockets.counts()
  }

  /** Rejects new WebSockets, closes open ones with a code that makes clients reconnect, and resolves when they are closed. */
  closeSockets(): Promise<void> {
    return this.#sockets.close()
  }

  /** Closes all connections and flushes counts. */
  async close(): Promise<void> {
    await this.#sockets.close()
    await this.#admission.close()
    await this.#services.close()
  }

  async #handle(req: IncomingMessage, res: ServerResponse, chain: string, token: string): Promise<void> {
    if (req.method === 'OPTIONS') return sendPreflight(res)
    if (req.method !== 'POST')
      return sendError(res, 405, 'null', { code: codes.invalidRequest, message: 'Send JSON-RPC 2.0 by POST.' })
    const body = await this.#bodies.read(req, res, () => this.#findOrg(token))
    if ('error' in body) {
      res.setHeader('connection', 'close')
      return sendError(res, body.status, 'null', body.error)
    }
    try {
      await this.#execute(req, res, { chain, token, body: body.text })
    } finally {
      body.release()
    }
  }

  async #findOrg(token: string): Promise<{ id: number } | RpcRejection> {
    const account = await this.#admission.find(token)
    const rejection = this.#admission.checkAccount(account)
    return rejection || !account ? (rejection ?? unknownToken) : { id: account.orgId }
  }

  async #execute(
    req: IncomingMessage,
    res: ServerResponse,
    { chain, token, body }: { chain: string; token: string; body: string },
  ): Promise<void> {
    const { isBatch, calls } = parseCalls(body)
    const [first] = calls
    if (!first) return
    const admitted = await this.#admit(req, chain, token, calls.length)
    if ('error' in admitted)
      return sendError(res, admitted.status, isBatch ? 'null' : (first.id ?? 'null'), admitted.error)
    await (isBatch ? this.#executeBatch(res, admitted, calls) : this.#executeCall(res, admitted, first))
  }

  /** Charges `count` calls to the rate. Resolves with the chain and the caller, or with the reason why the calls are rejected. */
  async #admit(
    req: IncomingMessage,
    chain: string,
    token: string,
    count: number,
  ): Promise<AdmittedRequest | RpcRejection> {
    const account = await this.#admission.find(token)
    const service = this.#services.find(chain)
    if (!service)
      return { status: 404, error: { code: codes.invalidRequest, message: `There is no chain "${chain}".` } }
    const rejection = this.#admission.admit(account, count)
    if (rejection || !account) return rejection ?? unknownToken
    return { service, caller: { account, chain, version: versionOf(req) } }
  }

  async #executeCall(
    res: ServerResponse,
    { service, caller }: AdmittedRequest,
    call: RpcCall | InvalidCall,
  ): Promise<void> {
    if (isInvalidCall(call))
      return sendError(res, call.error.code === codes.limitExceeded ? 413 : 400, call.id, call.error)
    const result = service.execute(call)
    // Awaiting a value that is already available would delay cached responses by a microtask.
    const outcome = result instanceof Promise ? await result : result
    await this.#send(res, caller, [outcome], async () => {
      this.#admission.count(caller, call, outcome)
      if (call.id === null) return sendNoContent(res)
      await sendOutcome(res, isUnavailable(outcome) ? 503 : 200, call.id, outcome)
    })
  }

  async #executeBatch(
    res: ServerResponse,
    { service, caller }: AdmittedRequest,
    parsed: readonly (RpcCall | InvalidCall)[],
  ): Promise<void> {
    const calls = parsed.filter((c): c is RpcCall => !isInvalidCall(c))
    const outcomes = await service.executeAll(calls)
    await this.#send(res, caller, outcomes, async () => {
      const responses: { id: string; outcome: RpcOutcome }[] = []
      for (const [i, call] of calls.entries()) {
        const outcome = outcomes[i]
        if (!outcome) continue
        this.#admission.count(caller, call, outcome)
        if (call.id !== null) responses.push({ id: call.id, outcome })
      }
      for (const invalid of parsed)
        if (isInvalidCall(invalid))
          responses.push({ id: invalid.id, outcome: { kind: 'error', error: invalid.error, isFromGateway: true } })
      if (responses.length === 0) return sendNoContent(res)
      // Clients retry on 503, which they should not do if any call of the batch was executed.
      await sendBatch(res, outcomes.length > 0 && outcomes.every(isUnavailable) ? 503 : 200, responses)
    })
  }

  /** Calls `send` if there is memory for the outcomes; otherwise sends an error. Ends streams that were not read. */
  async #send(
    res: ServerResponse,
    { account }: RpcCaller,
    outcomes: readonly RpcOutcome[],
    send: () => Promise<void>,
  ): Promise<void> {
    const release = this.#results.reserve(account.orgId, outcomes, () => res.destroy())
    try {
      if (release) await send()
      else sendError(res, tooManyResults.status, 'null', tooManyResults.error)
    } finally {
      release?.()
      outcomes.forEach(cancelStream)
    }
  }
}

const internalError = { code: codes.internal, message: 'Something failed on our side.' }

const isUnavailable = (outcome: RpcOutcome): boolean =>
  outcome.kind === 'error' && outcome.isFromGateway && outcome.error.code === codes.unavailable
