import { setTimeout as delay } from 'node:timers/promises'
import { createInterface } from 'node:readline'
import type { KubeObject } from '../objects/object-types.ts'
import type { KubeClient, Query } from './kube-client.ts'
import { ClusterUnreachable, KubeError } from './kube-error.ts'
import { type ObjectKind, objectPath } from './kinds.ts'

const MIN_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
/** The API server ends a watch after this time; the next watch continues at the same position. */
const WATCH_SECONDS = 290
const LIVE_TIMEOUT_MS = 5000

type WatchLine = {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  object: KubeObject & { code?: number }
}

export type WatchOptions<T> = {
  client: KubeClient
  kind: ObjectKind
  /** `labelSelector` and `fieldSelector`. */
  selector: Query
  /** Called for each object that was created, changed or, with `isDeleted`, deleted. */
  onChange?: (object: T, isDeleted: boolean) => void
  /** Called when a connection was lost, with the reason. */
  onInterrupt?: (reason: string) => void
}

/**
 * A copy of all objects of one kind, which watches keep up to date. When the server ends a watch, the next one continues at the same
 * version. After a lost connection, or if the cluster no longer has the changes since that version, all objects are listed again: the
 * cluster's state may have been restored from a backup, and a watch from a version that does not exist yet would miss all changes
 * before it.
 */
export class Watch<T extends KubeObject> {
  readonly #options: WatchOptions<T>
  readonly #objects = new Map<string, T>()
  readonly #ending = new AbortController()
  #version = '0'
  #isLive = false
  #waiting = new Set<() => void>()
  #loop: Promise<void> = Promise.resolve()

  constructor(options: WatchOptions<T>) {
    this.#options = options
  }

  get objects(): Iterable<T> {
    return this.#objects.values()
  }

  /** Returns the object with this name; undefined if there is none. */
  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(`${namespace ?? ''}/${name}`)
  }

  /** Lists all objects and begins to watch. @throws ClusterUnreachable, KubeError */
  async start(): Promise<void> {
    await this.#list()
    this.#loop = this.#run()
  }

  /**
   * Waits until the copy contains the change with this `resourceVersion` of an object of this kind; without one, until the watch is
   * connected.
   * @throws ClusterUnreachable after five seconds
   */
  async waitForVersion(version = '0'): Promise<void> {
    const deadline = performance.now() + LIVE_TIMEOUT_MS
    while (!this.#isLive || BigInt(this.#version) < BigInt(version)) {
      const remainingMs = deadline - performance.now()
      if (remainingMs <= 0 || this.#ending.signal.aborted)
        throw new ClusterUnreachable(`The state of the ${this.#options.kind.resource} in the cluster is not known`)
      await this.#nextChange(remainingMs)
    }
  }

  async close(): Promise<void> {
    this.#ending.abort()
    this.#wake()
    await this.#loop
  }

  #nextChange(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.add(done)
    })
  }

  #wake(): void {
    for (const done of this.#waiting) done()
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending
    let delayMs = MIN_DELAY_MS
    let mustList = false
    while (!signal.aborted) {
      try {
        if (mustList) await this.#list()
        mustList = false
        await this.#watch(() => (delayMs = MIN_DELAY_MS))
      } catch (error) {
        this.#isLive = false
        if (signal.aborted) return
        mustList ||= isExpired(error) || !(error instanceof KubeError)
        this.#options.onInterrupt?.(error instanceof Error ? error.message : String(error))
        if (mustList && delayMs === MIN_DELAY_MS) {
          delayMs *= 2
          continue
        }
        // Random, so that not all processes start their watches again at the same moment.
        await delay(delayMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined)
        delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
      }
    }
  }

  async #list(): Promise<void> {
    const { client, kind, selector, onChange } = this.#options
    const { items, metadata } = await client.list<T>(kind, selector, undefined, this.#ending.signal)
    const listed = new Map(items.map((item) => [keyOf(item), item]))
    const deleted = [...this.#objects].filter(([key]) => !listed.has(key))
    this.#version = metadata.resourceVersion
    this.#isLive = true
    for (const [key, object] of deleted) {
      this.#objects.delete(key)
      onChange?.(object, true)
    }
    for (const [key, object] of listed) {
      const isKnown = this.#objects.get(key)?.metadata.resourceVersion === object.metadata.resourceVersion
      this.#objects.set(key, object)
      if (!isKnown) onChange?.(object, false)
    }
    this.#wake()
  }

  /** Follows changes until the server ends the watch. `onProgress` is called when the server responds. */
  async #watch(onProgress: () => void): Promise<void> {
    const { client, kind, selector } = this.#options
    const { signal } = this.#ending
    const query = {
      ...selector,
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: this.#version,
      timeoutSeconds: String(WATCH_SECONDS),
    }
    const response = await client.open(objectPath(kind), query, signal)
    let failure: Error | null = null
    response.on('error', (error) => (failure = error))
    onProgress()
    this.#isLive = true
    this.#wake()
    try {
      for await (const line of createInterface({ input: response, crlfDelay: Infinity }))
        if (line) this.#applyChange(line)
    } finally {
      response.destroy()
    }
    // When the connection breaks, the lines end without an error.
    if (failure !== null || !response.complete) throw failure ?? new ClusterUnreachable('The watch was interrupted')
  }

  #applyChange(line: string): void {
    const { type, object } = JSON.parse(line) as WatchLine
    if (type === 'ERROR') {
      const { code = 500, reason = '', message = '' } = object as { code?: number; reason?: string; message?: string }
      throw new KubeError(code, reason, message)
    }
    this.#version = object.metadata.resourceVersion
    if (type !== 'BOOKMARK') {
      const isDeleted = type === 'DELETED'
      if (isDeleted) this.#objects.delete(keyOf(object))
      else this.#objects.set(keyOf(object), object as unknown as T)
      this.#options.onChange?.(object as unknown as T, isDeleted)
    }
    this.#wake()
  }
}

const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`

/** True if the cluster no longer has the changes since the version that the watch had reached. */
const isExpired = (error: unknown): boolean =>
  error instanceof KubeError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
