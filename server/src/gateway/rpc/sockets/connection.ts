import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { WebSocket } from 'ws'
import type { Account } from '../accounts.ts'
import type { Admission, Caller } from '../admission.ts'
import type { ChainService } from '../chain-service.ts'
import {
  codes,
  errorText,
  isFault,
  ourError,
  parseCalls,
  resultHead,
  type Call,
  type Outcome,
  type RpcError,
} from '../json-rpc.ts'
import type { Feed, Topic } from './feed.ts'
import { closeCodes, type SocketLimits } from './limits.ts'
import { readSubscription } from './subscribe.ts'

const maxBatch = 1_000
/** What a closing frame has room for. */
const maxReasonBytes = 123

export type ConnectionParts = {
  socket: WebSocket
  token: string
  caller: Caller
  service: ChainService
  feed: Feed
  admission: Admission
  limits: SocketLimits
  log: Logger
  /** Subscriptions of this organization at this gateway, over all of its connections. */
  subscriptionsOfOrg: () => number
}

type RpcReply = { id: string; text: string }
type Subscription = {
  id: string
  kind: Topic['kind']
  /** Notifications that came before the client was told the id; null once it was. */
  held: string[] | null
  end: () => void
}

/** One client: its calls, its subscriptions, and what waits to be read by it. */
export class Connection {
  readonly token: string
  readonly chain: string
  readonly #parts: ConnectionParts
  #account: Account
  readonly #subscriptions = new Map<string, Subscription>()
  /** Messages that came while enough calls were under way. */
  #queue: string[] = []
  #inFlight = 0
  /** Of answers and notifications that wait until the client has read what was sent before. */
  #heldBytes = 0
  #isClosing = false
  #isAlive = true
  #waiting: (() => void)[] = []

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.token = parts.token
    this.chain = parts.caller.chain
    this.#account = parts.caller.account
    const { socket } = parts
    socket.on('message', (data) => this.#receive((data as Buffer).toString()))
    socket.on('pong', () => (this.#isAlive = true))
    // The library closes the connection on these; what is wrong is in the closing frame.
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
    return [...this.#subscriptions.values()].filter((s) => s.kind === kind).length
  }

  get isBusy(): boolean {
    return this.#inFlight > 0
  }

  /** Closes the connection when the account may no longer call. */
  check(account: Account | null): void {
    if (account) this.#account = account
    const refusal = this.#parts.admission.refuseAny(account)
    if (refusal) this.close(4000 + refusal.status, refusal.error.message)
  }

  /** Cuts off a client that has not answered the ping before, or that reads nothing of what was sent to it. */
  ping(): void {
    const { socket } = this.#parts
    if (!this.#isAlive) return socket.terminate()
    this.#isAlive = false
    socket.ping()
  }

  /** Reads no further calls. */
  pause(): void {
    this.#isClosing = true
    this.#queue = []
    this.#parts.socket.pause()
  }

  /** Says why, ends the subscriptions at once, and cuts the connection off when the client does not answer. */
  close(code: number, reason: string): void {
    const { socket, limits } = this.#parts
    this.#isClosing = true
    this.#end()
    socket.resume()
    socket.close(code, cut(reason))
    setTimeout(() => socket.terminate(), limits.closeMs).unref()
  }

  #end(): void {
    this.#isClosing = true
    this.#queue = []
    for (const { end } of this.#subscriptions.values()) end()
    this.#subscriptions.clear()
    this.#wake()
  }

  #receive(text: string): void {
    if (this.#isClosing) return
    this.#isAlive = true
    this.#queue.push(text)
    this.#proceed()
  }

  /** Begins what may begin, and reads on only while that is all there is. */
  #proceed(): void {
    const { socket, limits } = this.#parts
    while (this.#queue.length > 0 && this.#inFlight < limits.callsInFlight && socket.bufferedAmount <= limits.calmBytes)
      void this.#answer(this.#queue.shift() as string)
    if (this.#isClosing) return
    if (this.#queue.length > 0) socket.pause()
    else if (socket.isPaused) socket.resume()
  }

  async #answer(text: string): Promise<void> {
    const { isBatch, calls } = parseCalls(text, maxBatch)
    this.#inFlight += calls.length
    const fresh: Subscription[] = []
    try {
      const refusal = await this.#refuse(calls.length)
      const answers: RpcReply[] = refusal
        ? calls.flatMap(({ id }) => (id === null ? [] : [{ id, text: errorText(id, refusal) }]))
        : await this.#answers(
            calls.filter((c): c is Call => !isFault(c)),
            fresh,
          )
      for (const call of calls) if (isFault(call)) answers.push({ id: call.id, text: errorText(call.id, call.error) })
      if (answers.length > 0) await this.#sendAnswers(answers, isBatch)
      // Clients know the id of a subscription only now.
      for (const subscription of fresh) this.#release(subscription)
      if (refusal) await sleep(this.#parts.limits.refusedMs, undefined, { ref: false })
    } catch (error) {
      this.#parts.log.error({ err: error, chain: this.chain }, 'an RPC message failed')
      this.close(closeCodes.failed, 'Something failed on our side. Connect again.')
    } finally {
      this.#inFlight -= calls.length
      this.#proceed()
    }
  }

  async #refuse(count: number): Promise<RpcError | null> {
    const { admission, token } = this.#parts
    try {
      const account = await admission.find(token)
      if (account) this.#account = account
      return admission.refuse(account, count)?.error ?? null
    } catch {
      return { code: codes.internal, message: 'Something failed on our side.' }
    }
  }

  /** Of all calls that are not notifications. Subscriptions begin when everything else is answered. */
  async #answers(calls: Call[], fresh: Subscription[]): Promise<RpcReply[]> {
    const { service, admission } = this.#parts
    const { type } = service.pool.chain
    const read = calls.map((call) => ({ call, asked: readSubscription(type, call.method, call.params) }))
    const plain = read.filter(({ asked }) => asked === null).map(({ call }) => call)
    const [only] = plain
    const outcomes = plain.length === 1 && only ? [await service.answer(only)] : await service.answerAll(plain)
    const answers: RpcReply[] = []
    const add = async (call: Call, outcome: Outcome) => {
      admission.count({ ...this.#parts.caller, account: this.#account }, call, outcome)
      if (call.id !== null) answers.push({ id: call.id, text: await textOf(call.id, outcome, this.#parts.limits) })
    }
    for (const [i, call] of plain.entries()) await add(call, outcomes[i] as Outcome)
    for (const { call, asked } of read) {
      if (asked === null) continue
      if ('error' in asked) await add(call, { kind: 'error', error: asked.error, isOurs: true })
      else if (asked.kind === 'unsubscribe') await add(call, this.#unsubscribe(asked.id))
      else if (call.id !== null) await add(call, await this.#subscribe(asked.topic, fresh))
    }
    return answers
  }

  async #subscribe(topic: Topic, fresh: Subscription[]): Promise<Outcome> {
    const { feed, limits, service, subscriptionsOfOrg } = this.#parts
    const tooMany = (most: number, of: string) =>
      ourError(
        codes.limitExceeded,
        `There are ${most} subscriptions of this ${of} already, which is the most there can be.`,
      )
    if (!(await feed.prepare(topic)))
      return ourError(
        codes.unavailable,
        `No node of ${service.pool.chain.title} answers now. Try again in a few seconds.`,
      )
    if (this.#isClosing) return ourError(codes.unavailable, 'The connection is being closed.')
    if (this.#subscriptions.size >= limits.subscriptionsOfConnection)
      return tooMany(limits.subscriptionsOfConnection, 'connection')
    if (subscriptionsOfOrg() >= limits.subscriptionsOfOrg) return tooMany(limits.subscriptionsOfOrg, 'organization')
    const id = `0x${randomBytes(16).toString('hex')}`
    const subscription: Subscription = { id, kind: topic.kind, held: [], end: () => undefined }
    subscription.end = feed.add(topic, {
      notify: (json) => this.#deliver(subscription, json),
      lost: () => this.close(closeCodes.restart, 'The chain was replaced or went back too far. Connect again.'),
    })
    this.#subscriptions.set(id, subscription)
    fresh.push(subscription)
    return { kind: 'result', json: Buffer.from(JSON.stringify(id)) }
  }

  #unsubscribe(id: string): Outcome {
    const found = this.#subscriptions.get(id)
    if (!found) return ourError(codes.serverError, 'subscription not found')
    found.end()
    this.#subscriptions.delete(id)
    return { kind: 'result', json: Buffer.from('true') }
  }

  #deliver({ id, held }: Subscription, json: string): void {
    if (!held) return this.#notify(id, json)
    held.push(json)
    this.#heldBytes += json.length
    if (this.#heldBytes > this.#parts.limits.unsentBytes) this.#closeSlow()
  }

  #closeSlow(): void {
    this.close(closeCodes.slowReader, 'Notifications were not read in time. Connect again.')
  }

  #release(subscription: Subscription): void {
    const held = subscription.held ?? []
    subscription.held = null
    for (const json of held) {
      this.#heldBytes -= json.length
      this.#notify(subscription.id, json)
    }
  }

  #notify(id: string, json: string): void {
    if (this.#isClosing || !this.#subscriptions.has(id)) return
    const { admission, caller, limits, socket } = this.#parts
    const account = this.#account
    const refusal = admission.refuseAny(account)
    if (refusal) return this.close(4000 + refusal.status, refusal.error.message)
    account.rate.owe(1)
    if (account.rate.waitMs() > limits.maxRateDebtMs)
      return this.close(
        closeCodes.limitExceeded,
        'More notifications than the rate of the organization allows. Filter logs.',
      )
    if (socket.bufferedAmount + json.length > limits.unsentBytes) return this.#closeSlow()
    admission.countNotification({ ...caller, account })
    socket.send(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":${json}}}`)
  }

  /** Waits while the client has not read what it was sent before. */
  async #sendAnswers(answers: RpcReply[], isBatch: boolean): Promise<void> {
    const { socket, limits } = this.#parts
    let text = joined(answers, isBatch)
    if (this.#heldBytes + socket.bufferedAmount + text.length > limits.unsentBytes) {
      const message = `The answer and those not read yet are larger than ${limits.unsentBytes / 1_048_576} MB. Ask for less at once, or over HTTP.`
      const error = { code: codes.limitExceeded, message }
      text = joined(
        answers.map(({ id }) => ({ id, text: errorText(id, error) })),
        isBatch,
      )
    }
    this.#heldBytes += text.length
    while (socket.bufferedAmount > limits.calmBytes && !this.#isClosing)
      await new Promise<void>((wake) => this.#waiting.push(wake))
    this.#heldBytes -= text.length
    // The callback comes when the bytes have left this process.
    if (socket.readyState === socket.OPEN) socket.send(text, () => this.#wake())
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake()
    this.#proceed()
  }
}

const joined = (answers: readonly RpcReply[], isBatch: boolean): string => {
  const texts = answers.map(({ text }) => text).join()
  return isBatch ? `[${texts}]` : texts
}

async function textOf(id: string, outcome: Outcome, { unsentBytes }: SocketLimits): Promise<string> {
  if (outcome.kind === 'error') return errorText(id, outcome.error)
  if (outcome.kind === 'result') return `${resultHead(id)}${outcome.json.toString()}}`
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for await (const part of outcome.chunks) {
      parts.push(part)
      length += part.length
      if (length > unsentBytes) {
        const message = `The answer is larger than ${unsentBytes / 1_048_576} MB. Ask for less, or over HTTP.`
        return errorText(id, { code: codes.limitExceeded, message })
      }
    }
  } catch {
    return errorText(id, { code: codes.unavailable, message: 'The node stopped in the middle of its answer.' })
  }
  return `${resultHead(id)}${Buffer.concat(parts).toString()}}`
}

/** Cut where a character ends. */
function cut(reason: string): string {
  let text = reason
  while (Buffer.byteLength(text) > maxReasonBytes) text = text.slice(0, -1)
  return text
}
