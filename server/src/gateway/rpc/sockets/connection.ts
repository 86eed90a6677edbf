import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { WebSocket } from 'ws'
import type { RpcAccount } from '../accounts.ts'
import type { Admission, RpcCaller } from '../admission.ts'
import type { ChainService } from '../chain-service.ts'
import { cancelStream, codes, errorText, isInvalidCall, parseCalls } from '../json-rpc.ts'
import type { RpcCall, RpcOutcome, RpcError } from '../json-rpc.ts'
import type { Feed, Topic } from './feed.ts'
import { closeCodes, type SocketLimits } from './limits.ts'
import { joinReplies, oversizedReplies, replyText, truncateReason, type RpcReply } from './reply-text.ts'
import { parseSubscription } from './subscribe.ts'
import { Subscriptions, type Subscription } from './subscriptions.ts'

/** An admitted connection, and what it needs from its gateway. */
export type ConnectionOptions = {
  socket: WebSocket
  token: string
  caller: RpcCaller
  service: ChainService
  feed: Feed
  admission: Admission
  limits: SocketLimits
  log: Logger
  /** Returns the number of subscriptions of the organization over all of its connections to this gateway. */
  countOrgSubscriptions: () => number
}

/** The connection of one client: its calls, its subscriptions, and backpressure while the client reads slowly. */
export class Connection {
  readonly token: string
  readonly chain: string
  readonly #options: ConnectionOptions
  #account: RpcAccount
  readonly #subscriptions: Subscriptions
  /** Received messages that wait, because too many calls are in flight or too many bytes are buffered for the client. */
  #queue: string[] = []
  #inFlight = 0
  /** Bytes of responses that wait until the client has read earlier ones. */
  #unsentBytes = 0
  #isClosing = false
  #isAlive = true
  #waiting: (() => void)[] = []

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.token = options.token
    this.chain = options.caller.chain
    this.#account = options.caller.account
    this.#subscriptions = new Subscriptions({
      ...options,
      notify: (id, json) => this.#notify(id, json),
      onPending: () => {
        if (this.bufferedBytes > options.limits.unsentBytes) this.closeSlowReader()
      },
      close: (code, reason) => this.close(code, reason),
    })
    const { socket } = options
    socket.on('message', (data) => this.#receive((data as Buffer).toString()))
    socket.on('pong', () => (this.#isAlive = true))
    // The library closes the connection on errors, with the reason in the closing frame.
    socket.on('error', () => undefined)
    socket.once('close', () => this.#end())
  }

  get orgId(): number {
    return this.#account.orgId
  }

  get subscriptionCount(): number {
    return this.#subscriptions.size
  }

  countOf(kind: Topic['kind']): number {
    return this.#subscriptions.countOf(kind)
  }

  /** Bytes of responses and notifications that the client has not read. */
  get bufferedBytes(): number {
    return this.#unsentBytes + this.#subscriptions.pendingBytes + this.#options.socket.bufferedAmount
  }

  /** Whether calls are in flight. */
  get isBusy(): boolean {
    return this.#inFlight > 0
  }

  /** Closes the connection when the account may no longer send calls. */
  check(account: RpcAccount | null): void {
    if (account) this.#account = account
    const rejection = this.#options.admission.checkAccount(account)
    if (rejection) this.close(4000 + rejection.status, rejection.error.message)
  }

  /** Pings the client; disconnects it if it has not responded to the previous ping. */
  ping(): void {
    const { socket } = this.#options
    if (!this.#isAlive) return socket.terminate()
    this.#isAlive = false
    socket.ping()
  }

  /** Stops reading calls, and discards those that wait. Must be followed by `close`. */
  pause(): void {
    this.#isClosing = true
    this.#queue = []
    this.#options.socket.pause()
  }

  /** Ends the subscriptions and closes the connection with a reason; terminates it when the client does not respond. */
  close(code: number, reason: string): void {
    const { socket, limits } = this.#options
    this.#isClosing = true
    this.#end()
    socket.resume()
    socket.close(code, truncateReason(reason))
    setTimeout(() => socket.terminate(), limits.closeMs).unref()
  }

  #end(): void {
    this.#isClosing = true
    this.#queue = []
    this.#subscriptions.end()
    this.#wake()
  }

  #receive(text: string): void {
    if (this.#isClosing) return
    this.#isAlive = true
    this.#queue.push(text)
    this.#startQueuedCalls()
  }

  /** Starts queued calls up to the limit, and reads further messages only when none are queued. */
  #startQueuedCalls(): void {
    const { socket, limits } = this.#options
    while (
      this.#queue.length > 0 &&
      this.#inFlight < limits.callsInFlight &&
      socket.bufferedAmount <= limits.pauseBytes
    )
      void this.#process(this.#queue.shift() as string)
    if (this.#isClosing) return
    if (this.#queue.length > 0) socket.pause()
    else if (socket.isPaused) socket.resume()
  }

  async #process(text: string): Promise<void> {
    const { isBatch, calls } = parseCalls(text)
    this.#inFlight += calls.length
    const created: Subscription[] = []
    try {
      const error = await this.#admit(calls.length)
      const replies: RpcReply[] = error
        ? calls.flatMap(({ id }) => (id === null ? [] : [{ id, text: errorText(id, error) }]))
        : await this.#callAll(
            calls.filter((c): c is RpcCall => !isInvalidCall(c)),
            created,
          )
      for (const call of calls)
        if (isInvalidCall(call)) replies.push({ id: call.id, text: errorText(call.id, call.error) })
      if (replies.length > 0) await this.#sendReplies(replies, isBatch)
      // Notifications may follow only after the reply with the id of their subscription.
      for (const subscription of created) this.#subscriptions.release(subscription)
      if (error) await sleep(this.#options.limits.rejectionDelayMs, undefined, { ref: false })
    } catch (error) {
      this.#options.log.error({ err: error, chain: this.chain }, 'failed to process an RPC message')
      this.close(closeCodes.failed, 'Something failed on our side. Please reconnect.')
    } finally {
      this.#inFlight -= calls.length
      this.#startQueuedCalls()
    }
  }

  async #admit(count: number): Promise<RpcError | null> {
    const { admission, token } = this.#options
    try {
      const account = await admission.find(token)
      if (account) this.#account = account
      return admission.admit(account, count)?.error ?? null
    } catch {
      return { code: codes.internal, message: 'Something failed on our side.' }
    }
  }

  /** Resolves with replies to all calls other than notifications. Subscriptions start after all other calls have ended. */
  async #callAll(calls: RpcCall[], created: Subscription[]): Promise<RpcReply[]> {
    const { service, admission } = this.#options
    const { type } = service.pool.chain
    const parsed = calls.map((call) => ({ call, subscription: parseSubscription(type, call.method, call.params) }))
    const otherCalls = parsed.filter(({ subscription }) => subscription === null).map(({ call }) => call)
    const [single] = otherCalls
    const outcomes =
      otherCalls.length === 1 && single ? [await service.execute(single)] : await service.executeAll(otherCalls)
    const replies: RpcReply[] = []
    const add = async (call: RpcCall, outcome: RpcOutcome) => {
      admission.count({ ...this.#options.caller, account: this.#account }, call, outcome)
      if (call.id === null) cancelStream(outcome)
      else replies.push({ id: call.id, text: await replyText(call.id, outcome, this.#options.limits) })
    }
    for (const [i, call] of otherCalls.entries()) await add(call, outcomes[i] as RpcOutcome)
    for (const { call, subscription } of parsed) {
      if (subscription === null) continue
      if ('error' in subscription) await add(call, { kind: 'error', error: subscription.error, isFromGateway: true })
      else if (subscription.kind === 'unsubscribe') await add(call, this.#subscriptions.unsubscribe(subscription.id))
      else if (call.id !== null) await add(call, await this.#subscriptions.subscribe(subscription.topic, created))
    }
    return replies
  }

  closeSlowReader(): void {
    this.close(closeCodes.slowReader, 'Responses or notifications were not read in time. Please reconnect.')
  }

  #notify(id: string, json: string): void {
    if (this.#isClosing || !this.#subscriptions.has(id)) return
    const { admission, caller, limits, socket } = this.#options
    const account = this.#account
    const rejection = admission.checkAccount(account)
    if (rejection) return this.close(4000 + rejection.status, rejection.error.message)
    account.rate.charge(1)
    if (account.rate.waitMs() > limits.maxRateDebtMs)
      return this.close(
        closeCodes.limitExceeded,
        'Notifications exceed the rate limit of the organization. Filter logs.',
      )
    if (socket.bufferedAmount + json.length > limits.unsentBytes) return this.closeSlowReader()
    admission.countNotification({ ...caller, account })
    socket.send(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${json}}}`)
  }

  /** Sends replies as soon as the client has read enough of the earlier ones. */
  async #sendReplies(replies: RpcReply[], isBatch: boolean): Promise<void> {
    const { socket, limits } = this.#options
    let text = joinReplies(replies, isBatch)
    if (this.bufferedBytes + text.length > limits.unsentBytes) text = oversizedReplies(replies, isBatch, limits)
    this.#unsentBytes += text.length
    while (socket.bufferedAmount > limits.pauseBytes && !this.#isClosing)
      await new Promise<void>((wake) => this.#waiting.push(wake))
    this.#unsentBytes -= text.length
    // `send` calls back when the bytes have left this process.
    if (socket.readyState === socket.OPEN) socket.send(text, () => this.#wake())
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
    this.#startQueuedCalls()
  }
}
