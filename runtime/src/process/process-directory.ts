import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerName, Directory, PortEndpoint, EndpointListener, Workload, WorkloadId } from '../driver.ts'
import { ChangeReader } from './changes.ts'
import {
  type ContainerRecord,
  containerFiles,
  fileNameOf,
  readRecordFile,
  WORKLOAD_FILE,
  workloadsDirIn,
} from './container-record.ts'
import { shortHash } from './short-hash.ts'
import { ContainerSockets } from './sockets.ts'

const POLL_MS = 200
/** A program that does not listen within this time is no longer polled, but `endpoint` still finds it. */
const MAX_WAIT_MS = 600_000
/** Maximum number of recorded queries. The oldest are evicted first. */
const MAX_QUERIES = 50_000

export type ProcessDirectoryOptions = { stateDir: string }

/**
 * Creates a directory of this host's containers. Any process of the user who runs the `process` runtime may do so: the directory
 * reads the files that the runtime writes to the state directory, so it is always up to date.
 */
export function createProcessDirectory(options: ProcessDirectoryOptions): Directory {
  return new ProcessDirectory(options)
}

/** A query and its last result, whose changes are reported to listeners. */
type EndpointQuery = {
  id: WorkloadId
  container: ContainerName
  port: number
  socket: string
  waitingSinceMs: number | null
}

type CachedFile<T> = { stamp: string; value: T }

class ProcessDirectory implements Directory {
  readonly #options: ProcessDirectoryOptions
  readonly #ports = new Map<WorkloadId, CachedFile<Map<ContainerName, number[]>>>()
  readonly #uids = new Map<string, CachedFile<number | null>>()
  readonly #queries = new Map<string, EndpointQuery>()
  readonly #listeners = new Set<EndpointListener>()
  #started: { workloadsDir: string; sockets: ContainerSockets; changes: ChangeReader; timer: NodeJS.Timeout } | null =
    null

  constructor(options: ProcessDirectoryOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    mkdirSync(this.#options.stateDir, { recursive: true })
    const stateDir = realpathSync(this.#options.stateDir)
    this.#started = {
      workloadsDir: workloadsDirIn(stateDir),
      sockets: new ContainerSockets({ label: shortHash(stateDir) }),
      changes: new ChangeReader(stateDir),
      timer: setInterval(() => this.#poll(), POLL_MS).unref(),
    }
  }

  endpoint(id: WorkloadId, container: ContainerName, port: number): PortEndpoint | null {
    if (!this.#started) throw new Error('The directory was not started')
    const key = `${id}/${container}`
    const uid = this.#uidOf(id, container, port)
    this.#record(key, { id, container, port, socket: this.#socketOf(key, port, uid), waitingSinceMs: null })
    return uid === undefined ? null : { kind: 'unix', path: this.#started.sockets.publish(key, port, uid) }
  }

  changed(listener: EndpointListener): () => void {
    // A separate function, so that one listener may be added twice.
    const registered: EndpointListener = (...change) => listener(...change)
    this.#listeners.add(registered)
    return () => this.#listeners.delete(registered)
  }

  async close(): Promise<void> {
    if (!this.#started) return
    clearInterval(this.#started.timer)
    this.#started.changes.close()
    this.#started = null
  }

  /** Returns the uid of the container; null: the server's own uid; undefined: the container or port is unknown. */
  #uidOf(id: WorkloadId, container: ContainerName, port: number): number | null | undefined {
    const dir = join(this.#started?.workloadsDir ?? '', fileNameOf(id))
    const ports = readCached(this.#ports, id, join(dir, WORKLOAD_FILE), portsOf)
    if (!ports?.get(container)?.includes(port)) return undefined
    const { record } = containerFiles(join(dir, fileNameOf(container)))
    return readCached(this.#uids, `${id}/${container}`, record, (text) => (text as ContainerRecord).uid)
  }

  #record(key: string, query: EndpointQuery): void {
    const previous = this.#queries.get(`${key}:${query.port}`)
    const waitingSinceMs = query.socket === '' ? (previous?.waitingSinceMs ?? performance.now()) : null
    this.#queries.set(`${key}:${query.port}`, { ...query, waitingSinceMs })
    if (this.#queries.size > MAX_QUERIES) this.#queries.delete(this.#queries.keys().next().value ?? '')
  }

  /** Returns a string that identifies the socket on which the container listens; empty if it does not listen. */
  #socketOf(key: string, port: number, uid: number | null | undefined): string {
    return uid === undefined ? '' : (this.#started?.sockets.inode(key, port) ?? '')
  }

  #poll(): void {
    const changes = this.#started?.changes.read() ?? []
    const changed = new Set(changes === 'all' ? [] : changes.map(([id, container]) => `${id}/${container}`))
    const nowMs = performance.now()
    for (const [name, query] of this.#queries) {
      const key = `${query.id}/${query.container}`
      const isWaiting = query.waitingSinceMs !== null && nowMs - query.waitingSinceMs < MAX_WAIT_MS
      if (changes !== 'all' && !isWaiting && !changed.has(key)) continue
      const uid = this.#uidOf(query.id, query.container, query.port)
      const socket = this.#socketOf(key, query.port, uid)
      const hasMoved = socket !== query.socket
      if (uid === undefined) this.#queries.delete(name)
      else if (hasMoved || changed.has(key))
        this.#queries.set(name, { ...query, socket, waitingSinceMs: socket === '' ? nowMs : null })
      if (hasMoved && !changed.has(key)) this.#notify(query.id, query.container)
    }
    if (changes !== 'all') for (const [id, container] of changes) this.#notify(id, container)
  }

  #notify(id: WorkloadId, container: ContainerName): void {
    for (const listener of this.#listeners) listener(id, container)
  }
}

function portsOf(desired: unknown): Map<ContainerName, number[]> {
  return new Map((desired as Workload).containers.map(({ name, ports }) => [name, ports]))
}

/** Parses a JSON file, and caches the result until the file is replaced; undefined when it is missing. */
function readCached<T>(
  cache: Map<string, CachedFile<T>>,
  key: string,
  file: string,
  parse: (json: unknown) => T,
): T | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  const stamp = stats && `${stats.ino} ${stats.mtimeMs}`
  const cached = cache.get(key)
  if (cached && cached.stamp === stamp) return cached.value
  const json = stamp === undefined ? null : readRecordFile(file)
  if (stamp === undefined || json === null) {
    cache.delete(key)
    return undefined
  }
  const entry = { stamp, value: parse(json) }
  cache.set(key, entry)
  return entry.value
}
