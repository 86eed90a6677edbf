import { WebSocket } from 'ws'
import { untilValue } from '../../../testing/until.ts'

/** A message about a subscription. `removed` is set for logs. */
export type Notification = { subscription: string; result: Record<string, unknown> & { removed?: boolean } }
type ReceivedMessage = {
  id?: unknown
  result?: unknown
  error?: { code: number; message: string }
  params?: Notification
}

/** A WebSocket client for tests that records all messages in order. */
export type WsClient = {
  socket: WebSocket
  /** All parsed messages: responses, batches of responses, notifications. */
  received: (ReceivedMessage | ReceivedMessage[])[]
  /** Returns the results of a subscription so far. */
  resultsOf: (subscription: string) => Notification['result'][]
  /** Sends one call and returns its response. */
  call: (method: string, params?: unknown[]) => Promise<ReceivedMessage>
  /** Starts a subscription and returns its id. @throws Error with the message of an error response */
  subscribe: (...params: unknown[]) => Promise<string>
  /** Resolves when the connection is closed. */
  closed: Promise<{ code: number; reason: string }>
}

/** Opens a connection. @throws Error with the HTTP status when the gateway rejects it */
export async function connectWebSocket(httpUrl: string): Promise<WsClient> {
  const socket = new WebSocket(httpUrl.replace(/^http/, 'ws'))
  const received: WsClient['received'] = []
  const resultsBySubscription = new Map<string, Notification['result'][]>()
  let lastId = 0
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as ReceivedMessage
    received.push(message)
    if (message.params)
      resultsBySubscription.set(message.params.subscription, [
        ...resultsOf(message.params.subscription),
        message.params.result,
      ])
  })
  const resultsOf = (subscription: string) => resultsBySubscription.get(subscription) ?? []
  const closed = new Promise<{ code: number; reason: string }>((done) =>
    socket.once('close', (code, reason: Buffer) => done({ code, reason: reason.toString() })),
  )
  await new Promise((resolve, reject) => {
    socket.once('open', resolve)
    socket.once('unexpected-response', (_, res) => reject(new Error(`rejected with HTTP ${res.statusCode}`)))
    socket.on('error', reject)
  })
  const sendCall = async (method: string, params: unknown[] = []) => {
    const id = `call ${(lastId += 1)}`
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    const find = () =>
      received.find((message): message is ReceivedMessage => !Array.isArray(message) && message.id === id)
    return (await untilValue(async () => find(), Boolean)) as ReceivedMessage
  }
  return {
    socket,
    received,
    resultsOf,
    call: sendCall,
    subscribe: async (...params) => {
      const { result, error } = await sendCall('eth_subscribe', params)
      if (typeof result !== 'string') throw new Error(error?.message ?? 'no id')
      return result
    },
    closed,
  }
}
