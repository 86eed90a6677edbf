import { WebSocket } from 'ws'
import { until } from '../testbed.ts'

/** A WebSocket client for tests that records all messages in order. */

export type Notification = { subscription: string; result: Record<string, unknown> & { removed?: boolean } }
type ReceivedMessage = {
  id?: unknown
  result?: unknown
  error?: { code: number; message: string }
  params?: Notification
}

export type WsClient = {
  socket: WebSocket
  /** Every message, parsed: responses, batches of responses, notifications. */
  received: (ReceivedMessage | ReceivedMessage[])[]
  /** Results of a subscription so far. */
  of: (subscription: string) => Notification['result'][]
  /** Sends one call and returns its response. */
  call: (method: string, params?: unknown[]) => Promise<ReceivedMessage>
  subscribe: (...params: unknown[]) => Promise<string>
  /** Resolves when the connection is closed. */
  closed: Promise<{ code: number; reason: string }>
}

/** @throws Error with the HTTP status when the connection is refused */
export async function connect(httpUrl: string): Promise<WsClient> {
  const socket = new WebSocket(httpUrl.replace(/^http/, 'ws'))
  const received: WsClient['received'] = []
  const notified = new Map<string, Notification['result'][]>()
  let lastId = 0
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as ReceivedMessage
    received.push(message)
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
    const find = () =>
      received.find((message): message is ReceivedMessage => !Array.isArray(message) && message.id === id)
    return (await until(async () => find(), Boolean)) as ReceivedMessage
  }
  return {
    socket,
    received: received,
    of,
    call: ask,
    subscribe: async (...params) => {
      const { result, error } = await ask('eth_subscribe', params)
      if (typeof result !== 'string') throw new Error(error?.message ?? 'no id')
      return result
    },
    closed,
  }
}
