import { lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { ContainerName, Directory, Endpoint, EndpointListener, Workload, WorkloadId } from '../driver.ts'
import { ChangeReader } from './changes.ts'
import {
  type ContainerRecord,
  containerFiles,
  nameOf,
  readJson,
  WORKLOAD_FILE,
  workloadsDirIn,
} from './container-record.ts'
import { shortHash } from './host.ts'
import { Sockets } from './sockets.ts'

const POLL_MS = 200
/** A program that does not listen for this long is no longer polled; `endpoint` still finds it. */
const MAX_WAIT_MS = 600_000
/** Maximum number of recorded queries; the oldest are evicted. */
const MAX_QUERIES = 50_000

export type ProcessDirectoryOptions = { stateDir: string }

/**
 * Finds the endpoints of containers of this host, in any process of the user that runs the `process` runtime. Reads the files of the
 * runtime in the state directory, so that it is always up to date.
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

type Read<T> = { stamp: string; value: T }

class ProcessDirectory implements Directory {
  readonly #options: ProcessDirectoryOptions
  readonly #ports = new Map<WorkloadId, Read<Map<ContainerName, number[]>>>()
  readonly #uids = new Map<string, Read<number | null>>()
  readonly #queries = new Map<string, EndpointQuery>()
  readonly #listeners = new Set<EndpointListener>()
  #started: { workloadsDir: string; sockets: Sockets; changes: ChangeReader; timer: NodeJS.Timeout } | null = null

  constructor(options: ProcessDirectoryOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    mkdirSync(this.#options.stateDir, { recursive: true })
    const stateDir = realpathSync(this.#options.stateDir)
    this.#started = {
      workloadsDir: workloadsDirIn(stateDir),
      sockets: new Sockets({ label: shortHash(stateDir) }),
      changes: new ChangeReader(stateDir),
      timer: setInterval(() => this.#poll(), POLL_MS).unref(),
    }
  }

  endpoint(id: WorkloadId, container: ContainerName, port: number): Endpoint | null {
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

  /** Uid of the container, null for that of the server; undefined for an unknown container or port. */
  #uidOf(id: WorkloadId, container: ContainerName, port: number): number | null | undefined {
    const dir = join(this.#started?.workloadsDir ?? '', nameOf(id))
    const ports = readNewest(this.#ports, id, join(dir, WORKLOAD_FILE), portsOf)
    if (!ports?.get(container)?.includes(port)) return undefined
    const { record } = containerFiles(join(dir, nameOf(container)))
    return readNewest(this.#uids, `${id}/${container}`, record, (text) => (text as ContainerRecord).uid)
  }

  #record(key: string, query: EndpointQuery): void {
    const known = this.#queries.get(`${key}:${query.port}`)
    const waitingSinceMs = query.socket === '' ? (known?.waitingSinceMs ?? performance.now()) : null
    this.#queries.set(`${key}:${query.port}`, { ...query, waitingSinceMs })
    if (this.#queries.size > MAX_QUERIES) this.#queries.delete(this.#queries.keys().next().value ?? '')
  }

  /** Identifies the socket the container listens on; empty without one. */
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

/** Parses a JSON file, cached until the file is replaced; undefined when it is missing. */
function readNewest<T>(
  known: Map<string, Read<T>>,
  key: string,
  file: string,
  parse: (json: unknown) => T,
): T | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  const stamp = stats && `${stats.ino} ${stats.mtimeMs}`
  const before = known.get(key)
  if (before && before.stamp === stamp) return before.value
  const json = stamp === undefined ? null : readJson(file)
  if (stamp === undefined || json === null) {
    known.delete(key)
    return undefined
  }
  const read = { stamp, value: parse(json) }
  known.set(key, read)
  return read.value
}
