import type { IncomingMessage, ServerResponse } from 'node:http'
import type { App } from '../../app.ts'
import { unknownToken } from './accounts.ts'
import { Admission, type Caller } from './admission.ts'
import type { ChainService } from './chain-service.ts'
import { readText, sendBatch, sendError, sendNothing, sendOutcome, sendPreflight } from './http.ts'
import { codes, isFault, parseCalls, type Call, type Outcome } from './json-rpc.ts'
import { openServices } from './services.ts'
import type { SocketLimits } from './sockets/limits.ts'
import type { SocketCounts } from './sockets/metrics.ts'
import { refuse, Sockets, type Upgrade } from './sockets/sockets.ts'

export type RpcRoute = {
  /** Answers `/rpc/{chain}/{token}`; never rejects. */
  handle: (req: IncomingMessage, res: ServerResponse, chain: string, token: string) => Promise<void>
  /** Opens a WebSocket at `/rpc/{chain}/{token}`, or says over HTTP why not; never rejects. */
  upgrade: (upgrade: Upgrade, chain: string, token: string) => Promise<void>
  /** WebSocket connections and subscriptions that are open, by chain. */
  socketCounts: () => SocketCounts[]
  /** Tells WebSocket clients to connect again, and resolves when they have gone. New ones are refused. */
  closeSockets: () => Promise<void>
  /** Closes what is open, and writes what was counted. */
  close: () => Promise<void>
}

const maxBodyBytes = 5_000_000
const maxBatch = 1_000

/** The data plane of RPC: `/rpc/{chain}/{token}` (spec 2.11, contract 6.5). */
export function createRpcRoute(app: App, limits: Partial<SocketLimits> = {}): RpcRoute {
  const services = openServices(app)
  const admission = new Admission(app)
  const sockets = new Sockets(app, admission, limits)

  const answer = async (req: IncomingMessage, res: ServerResponse, chainId: string, token: string): Promise<void> => {
    if (req.method === 'OPTIONS') return sendPreflight(res)
    if (req.method !== 'POST')
      return sendError(res, 405, 'null', { code: codes.invalidRequest, message: 'Send JSON-RPC 2.0 by POST.' })
    const account = await admission.find(token)
    const service = await services.find(chainId)
    const body = await readText(req, maxBodyBytes)
    if (body === null) {
      res.setHeader('connection', 'close')
      return sendError(res, 413, 'null', {
        code: codes.limitExceeded,
        message: `The body is larger than ${maxBodyBytes / 1e6} MB.`,
      })
    }
    const parsed = parseCalls(body, maxBatch)
    const [first] = parsed.calls
    const firstId = parsed.isBatch ? 'null' : (first?.id ?? 'null')
    if (!service)
      return sendError(res, 404, firstId, { code: codes.invalidRequest, message: `There is no chain "${chainId}".` })
    const count = parsed.calls.length
    const refusal = admission.refuse(account, count)
    if (refusal || !account)
      return sendError(res, (refusal ?? unknownToken).status, firstId, (refusal ?? unknownToken).error)
    const caller: Caller = { account, chain: chainId, version: versionOf(req) }
    if (parsed.isBatch) return answerBatch(res, service, caller, parsed.calls)
    if (!first) return
    if (isFault(first))
      return sendError(res, first.error.code === codes.limitExceeded ? 413 : 400, first.id, first.error)
    const given = service.answer(first)
    const outcome = given instanceof Promise ? await given : given
    admission.count(caller, first, outcome)
    if (first.id === null) return sendNothing(res)
    return sendOutcome(res, isUnavailable(outcome) ? 503 : 200, first.id, outcome)
  }

  const answerBatch = async (
    res: ServerResponse,
    service: ChainService,
    caller: Caller,
    given: ReturnType<typeof parseCalls>['calls'],
  ) => {
    const calls = given.filter((c): c is Call => !isFault(c))
    const outcomes = await service.answerAll(calls)
    const answers: { id: string; outcome: Outcome }[] = []
    for (const [i, call] of calls.entries()) {
      const outcome = outcomes[i]
      if (!outcome) continue
      admission.count(caller, call, outcome)
      if (call.id !== null) answers.push({ id: call.id, outcome })
    }
    for (const fault of given)
      if (isFault(fault)) answers.push({ id: fault.id, outcome: { kind: 'error', error: fault.error, isOurs: true } })
    if (answers.length === 0) return sendNothing(res)
    // Clients try again on 503; with one answer that is worth keeping they should not.
    return sendBatch(res, outcomes.length > 0 && outcomes.every(isUnavailable) ? 503 : 200, answers)
  }

  const open = async (upgrade: Upgrade, chainId: string, token: string): Promise<void> => {
    const { req, socket } = upgrade
    const account = await admission.find(token)
    const service = await services.find(chainId)
    if (!service)
      return refuse(socket, {
        status: 404,
        error: { code: codes.invalidRequest, message: `There is no chain "${chainId}".` },
      })
    // Opening a connection costs as much as a call.
    const refusal = admission.refuse(account, 1)
    if (refusal || !account) return refuse(socket, refusal ?? unknownToken)
    sockets.accept(upgrade, token, service, { account, chain: chainId, version: versionOf(req) })
  }

  return {
    handle: async (req, res, chain, token) => {
      try {
        await answer(req, res, chain, token)
      } catch (error) {
        if (!res.destroyed) app.log.error({ err: error, chain }, 'an RPC request failed')
        if (res.headersSent) res.destroy()
        else sendError(res, 500, 'null', { code: -32603, message: 'Something failed on our side.' })
      }
    },
    upgrade: async (upgrade, chain, token) => {
      try {
        await open(upgrade, chain, token)
      } catch (error) {
        app.log.error({ err: error, chain }, 'an RPC WebSocket could not be opened')
        refuse(upgrade.socket, {
          status: 500,
          error: { code: codes.internal, message: 'Something failed on our side.' },
        })
      }
    },
    socketCounts: () => sockets.counts(),
    closeSockets: () => sockets.close(),
    close: async () => {
      await sockets.close()
      await admission.close()
      await services.close()
    },
  }
}

const isUnavailable = (outcome: Outcome): boolean =>
  outcome.kind === 'error' && outcome.isOurs && outcome.error.code === codes.unavailable

/** What the SDK sends as SQUID_ID (contract 4.2). */
function versionOf(req: IncomingMessage): string {
  const given = req.headers['x-squid-id']
  return typeof given === 'string' && /^[\w@:./-]{1,80}$/.test(given) ? given : ''
}
