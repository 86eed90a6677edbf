import { WebSocket } from 'ws'
import { until } from '../testbed.ts'

/** A client for tests that keeps everything it hears, in order. */

export type Notification = { subscription: string; result: Record<string, unknown> & { removed?: boolean } }
type Heard = { id?: unknown; result?: unknown; error?: { code: number; message: string }; params?: Notification }

export type WsClient = {
  socket: WebSocket
  /** Every message, parsed: answers, batches of answers, notifications. */
  heard: (Heard | Heard[])[]
  /** Results of a subscription so far. */
  of: (subscription: string) => Notification['result'][]
  /** Answers one call. */
  ask: (method: string, params?: unknown[]) => Promise<Heard>
  subscribe: (...params: unknown[]) => Promise<string>
  /** Resolves when the connection has ended. */
  closed: Promise<{ code: number; reason: string }>
}

/** @throws Error with the HTTP status when it is refused */
export async function connect(httpUrl: string): Promise<WsClient> {
  const socket = new WebSocket(httpUrl.replace(/^http/, 'ws'))
  const heard: WsClient['heard'] = []
  const notified = new Map<string, Notification['result'][]>()
  let lastId = 0
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Heard
    heard.push(message)
    if (message.params)
      notified.set(message.params.subscription, [...of(message.params.subscription), message.params.result])
  })
  const of = (subscription: string) => notified.get(subscription) ?? []
  const closed = new Promise<{ code: number; reason: string }>((done) =>
    socket.once('close', (code, reason: Buffer) => done({ code, reason: reason.toString() })),
  )
  await new Promise((opened, failed) => {
    socket.once('open', opened)
    socket.once('unexpected-response', (_, res) => failed(new Error(`refused with HTTP ${res.statusCode}`)))
    socket.on('error', failed)
  })
  const ask = async (method: string, params: unknown[] = []) => {
    const id = `call ${(lastId += 1)}`
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    const find = () => heard.find((message): message is Heard => !Array.isArray(message) && message.id === id)
    return (await until(async () => find(), Boolean)) as Heard
  }
  return {
    socket,
    heard,
    of,
    ask,
    subscribe: async (...params) => {
      const { result, error } = await ask('eth_subscribe', params)
      if (typeof result !== 'string') throw new Error(error?.message ?? 'no id')
      return result
    },
    closed,
  }
}
