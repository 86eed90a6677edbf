import type { Logger } from 'pino'
import type { ChainService } from '../chain-service.ts'
import type { BlockLog, Step } from './branch.ts'
import { Follower } from './follower.ts'
import { keyOfFilter, matches, type LogFilter } from './log-filter.ts'

/** What is subscribed to. */
export type Topic = { kind: 'newHeads' } | { kind: 'logs'; filter: LogFilter }

export type Subscriber = {
  /** Sends one result, given as JSON. */
  notify: (json: string) => void
  /** What was sent cannot be corrected: the client has to begin again. */
  lost: () => void
}

/** How long a subscription waits for a node that shows the tip. */
const readyMs = 5_000
/** How long a chain is followed after the last subscription ended: clients that connect again find it ready. */
const lingerMs = 5_000

type LogGroup = { filter: LogFilter; subscribers: Set<Subscriber> }

/** The subscriptions to one chain. The chain is followed while there are any, once for all of them. */
export class Feed {
  readonly #service: ChainService
  readonly #log: Logger
  readonly #heads = new Set<Subscriber>()
  /** By filter: many clients ask for the same, which is then matched once. */
  readonly #logs = new Map<string, LogGroup>()
  #follower: Follower | null = null
  #lingering: NodeJS.Timeout | null = null

  constructor(service: ChainService, log: Logger) {
    this.#service = service
    this.#log = log
  }

  /** False when no node shows the tip of the chain. After true, call `add` within a second. */
  async prepare({ kind }: Topic): Promise<boolean> {
    this.#follower ??= new Follower(this.#service, this.#log, {
      moved: (step) => this.#publish(step),
      lost: () => this.#lose(),
    })
    const isReady = await this.#follower.ready(kind === 'logs', readyMs)
    this.#linger()
    return isReady
  }

  /** Notifies of every change from now on. Answers how to end that. */
  add(topic: Topic, subscriber: Subscriber): () => void {
    if (topic.kind === 'newHeads') {
      this.#heads.add(subscriber)
      return () => {
        this.#heads.delete(subscriber)
        this.#linger()
      }
    }
    const key = keyOfFilter(topic.filter)
    const group = this.#logs.get(key) ?? { filter: topic.filter, subscribers: new Set() }
    this.#logs.set(key, group)
    group.subscribers.add(subscriber)
    return () => {
      group.subscribers.delete(subscriber)
      if (group.subscribers.size === 0 && this.#logs.get(key) === group) this.#logs.delete(key)
      this.#linger()
    }
  }

  close(): void {
    if (this.#lingering) clearTimeout(this.#lingering)
    this.#follower?.stop()
    this.#follower = null
  }

  /** Looks after a while whether anybody is still subscribed. */
  #linger(): void {
    if (this.#lingering) clearTimeout(this.#lingering)
    this.#lingering = setTimeout(() => {
      if (this.#logs.size === 0) this.#follower?.clearLogs()
      if (this.#logs.size === 0 && this.#heads.size === 0) this.close()
    }, lingerMs).unref()
  }

  #publish({ removed, added }: Step): void {
    for (const block of removed) for (const log of (block.logs ?? []).toReversed()) this.#publishLog(log, true)
    for (const block of added) {
      for (const subscriber of this.#heads) subscriber.notify(block.header)
      for (const log of block.logs ?? []) this.#publishLog(log, false)
    }
  }

  #publishLog(log: BlockLog, removed: boolean): void {
    const json = `${log.open},"removed":${removed}}`
    for (const { filter, subscribers } of this.#logs.values())
      if (matches(filter, log)) for (const subscriber of subscribers) subscriber.notify(json)
  }

  #lose(): void {
    const all = [...this.#heads, ...[...this.#logs.values()].flatMap(({ subscribers }) => [...subscribers])]
    for (const subscriber of all) subscriber.lost()
  }
}
