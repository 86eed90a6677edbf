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
/** A program that does not listen for so long is not waited for any more; `endpoint` tells when it is asked. */
const MOST_WAITED_MS = 600_000
/** Of containers that were asked for and are no longer there, the oldest are forgotten beyond this. */
const MOST_ASKED = 50_000

export type ProcessDirectoryOptions = { stateDir: string }

/**
 * Where the ports of the containers of this host are: for every process of the user that the `process` runtime runs as, on the
 * same host. It reads what the runtime has written into the state directory and holds nothing that could be out of date.
 */
export function createProcessDirectory(options: ProcessDirectoryOptions): Directory {
  return new ProcessDirectory(options)
}

/** Which sockets a container that was asked for has; a change of it is told. */
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
  readonly #asked = new Map<string, EndpointQuery>()
  readonly #listeners = new Set<EndpointListener>()
  #place: { workloadsDir: string; sockets: Sockets; changes: ChangeReader; timer: NodeJS.Timeout } | null = null

  constructor(options: ProcessDirectoryOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    mkdirSync(this.#options.stateDir, { recursive: true })
    const stateDir = realpathSync(this.#options.stateDir)
    this.#place = {
      workloadsDir: workloadsDirIn(stateDir),
      sockets: new Sockets({ label: shortHash(stateDir) }),
      changes: new ChangeReader(stateDir),
      timer: setInterval(() => this.#poll(), POLL_MS).unref(),
    }
  }

  endpoint(id: WorkloadId, container: ContainerName, port: number): Endpoint | null {
    if (!this.#place) throw new Error('The directory was not started')
    const key = `${id}/${container}`
    const uid = this.#uidOf(id, container, port)
    this.#note(key, { id, container, port, socket: this.#socketOf(key, port, uid), waitingSinceMs: null })
    return uid === undefined ? null : { kind: 'unix', path: this.#place.sockets.publish(key, port, uid) }
  }

  changed(listener: EndpointListener): () => void {
    // Its own function, so that one listener may be added twice.
    const own: EndpointListener = (...change) => listener(...change)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  async close(): Promise<void> {
    if (!this.#place) return
    clearInterval(this.#place.timer)
    this.#place.changes.close()
    this.#place = null
  }

  /** The user the container runs as, null for our own; undefined when there is no such container or port. */
  #uidOf(id: WorkloadId, container: ContainerName, port: number): number | null | undefined {
    const dir = join(this.#place?.workloadsDir ?? '', nameOf(id))
    const ports = readNewest(this.#ports, id, join(dir, WORKLOAD_FILE), portsOf)
    if (!ports?.get(container)?.includes(port)) return undefined
    const { record } = containerFiles(join(dir, nameOf(container)))
    return readNewest(this.#uids, `${id}/${container}`, record, (text) => (text as ContainerRecord).uid)
  }

  #note(key: string, asked: EndpointQuery): void {
    const known = this.#asked.get(`${key}:${asked.port}`)
    const waitingSinceMs = asked.socket === '' ? (known?.waitingSinceMs ?? performance.now()) : null
    this.#asked.set(`${key}:${asked.port}`, { ...asked, waitingSinceMs })
    if (this.#asked.size > MOST_ASKED) this.#asked.delete(this.#asked.keys().next().value ?? '')
  }

  /** Names the socket the container listens on; empty without one. */
  #socketOf(key: string, port: number, uid: number | null | undefined): string {
    return uid === undefined ? '' : (this.#place?.sockets.inode(key, port) ?? '')
  }

  #poll(): void {
    const changes = this.#place?.changes.read() ?? []
    const told = new Set(changes === 'all' ? [] : changes.map(([id, container]) => `${id}/${container}`))
    const nowMs = performance.now()
    for (const [name, asked] of this.#asked) {
      const key = `${asked.id}/${asked.container}`
      const isWaiting = asked.waitingSinceMs !== null && nowMs - asked.waitingSinceMs < MOST_WAITED_MS
      if (changes !== 'all' && !isWaiting && !told.has(key)) continue
      const uid = this.#uidOf(asked.id, asked.container, asked.port)
      const socket = this.#socketOf(key, asked.port, uid)
      const hasMoved = socket !== asked.socket
      if (uid === undefined) this.#asked.delete(name)
      else if (hasMoved || told.has(key))
        this.#asked.set(name, { ...asked, socket, waitingSinceMs: socket === '' ? nowMs : null })
      if (hasMoved && !told.has(key)) this.#tell(asked.id, asked.container)
    }
    if (changes !== 'all') for (const [id, container] of changes) this.#tell(id, container)
  }

  #tell(id: WorkloadId, container: ContainerName): void {
    for (const listener of this.#listeners) listener(id, container)
  }
}

function portsOf(desired: unknown): Map<ContainerName, number[]> {
  return new Map((desired as Workload).containers.map(({ name, ports }) => [name, ports]))
}

/** What `parse` makes of a JSON file, read again only when the file was replaced; undefined when it is not there. */
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
