import type { Logger } from 'pino'
import type { ChainService } from '../chain-service.ts'
import type { BlockLog, BranchChange } from './branch.ts'
import { Follower } from './follower.ts'
import { keyOfFilter, matchesEventLog, type EventLogFilter } from './log-filter.ts'

/** The subject of a subscription. */
export type Topic = { kind: 'newHeads' } | { kind: 'logs'; filter: EventLogFilter }

/** The receiver of the notifications of one subscription. */
export type Subscriber = {
  /** Sends one result as JSON. */
  notify: (json: string) => void
  /** Called when earlier notifications cannot be corrected: the client must subscribe again. */
  onLost: () => void
}

/** How long a subscription waits for a node that returns the tip. */
const readyTimeoutMs = 5_000
/** How long a chain is followed after its last subscription ended, so that reconnecting clients find it ready. */
const idleMs = 5_000

type LogGroup = { filter: EventLogFilter; subscribers: Set<Subscriber> }

/** The subscriptions to one chain. One follower serves all of them and runs while there are any. */
export class Feed {
  readonly #service: ChainService
  readonly #log: Logger
  readonly #heads = new Set<Subscriber>()
  /** Subscriptions by filter, so that a filter that many clients share is matched once. */
  readonly #logs = new Map<string, LogGroup>()
  #follower: Follower | null = null
  #idleTimer: NodeJS.Timeout | null = null

  constructor(service: ChainService, log: Logger) {
    this.#service = service
    this.#log = log
  }

  /**
   * Starts to follow the chain. Resolves to false when no node returns its tip in time. After it resolves to true, `add` must be called
   * within `idleMs`.
   */
  async prepare({ kind }: Topic): Promise<boolean> {
    this.#follower ??= new Follower(this.#service, this.#log, {
      onMove: (change) => this.#publish(change),
      onLost: () => this.#notifyLost(),
    })
    const isReady = await this.#follower.ready(kind === 'logs', readyTimeoutMs)
    this.#stopWhenIdle()
    return isReady
  }

  /** Sends all further changes to the subscriber. Returns a function that ends the subscription. */
  add(topic: Topic, subscriber: Subscriber): () => void {
    if (topic.kind === 'newHeads') {
      this.#heads.add(subscriber)
      return () => {
        this.#heads.delete(subscriber)
        this.#stopWhenIdle()
      }
    }
    const key = keyOfFilter(topic.filter)
    const group = this.#logs.get(key) ?? { filter: topic.filter, subscribers: new Set() }
    this.#logs.set(key, group)
    group.subscribers.add(subscriber)
    return () => {
      group.subscribers.delete(subscriber)
      if (group.subscribers.size === 0 && this.#logs.get(key) === group) this.#logs.delete(key)
      this.#stopWhenIdle()
    }
  }

  close(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    this.#follower?.stop()
    this.#follower = null
  }

  /** Stops following after a delay, unless there are subscriptions by then. */
  #stopWhenIdle(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => {
      if (this.#logs.size === 0) this.#follower?.stopReadingLogs()
      if (this.#logs.size === 0 && this.#heads.size === 0) this.close()
    }, idleMs).unref()
  }

  #publish({ removed, added }: BranchChange): void {
    for (const block of removed) for (const log of (block.logs ?? []).toReversed()) this.#publishLog(log, true)
    for (const block of added) {
      for (const subscriber of this.#heads) subscriber.notify(block.header)
      for (const log of block.logs ?? []) this.#publishLog(log, false)
    }
  }

  #publishLog(log: BlockLog, removed: boolean): void {
    const json = `${log.jsonPrefix},"removed":${removed}}`
    for (const { filter, subscribers } of this.#logs.values())
      if (matchesEventLog(filter, log)) for (const subscriber of subscribers) subscriber.notify(json)
  }

  #notifyLost(): void {
    const subscribers = [...this.#heads, ...[...this.#logs.values()].flatMap(({ subscribers }) => [...subscribers])]
    for (const subscriber of subscribers) subscriber.onLost()
  }
}
