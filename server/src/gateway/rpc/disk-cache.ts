import { chmodSync, closeSync, existsSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Logger } from 'pino'

/** Maximum delay of a write. */
const flushMs = 250
/** Maximum number of entries in memory that wait for the next write. */
const maxUnwritten = 500
/** How long a query waits for a lock of another gateway. */
const busyMs = 2_000

/**
 * Keeps immutable responses across restarts in one SQLite file, which needs no separate process, survives kill -9, and may be
 * shared by several gateways of one host. Evicts the oldest entries when full. Writes are batched.
 */
class DiskCache {
  readonly #maxBytes: number
  readonly #db: DatabaseSync
  readonly #get: ReturnType<DatabaseSync['prepare']>
  readonly #add: ReturnType<DatabaseSync['prepare']>
  readonly #unwritten = new Map<string, Buffer>()
  #bytes: number
  #timer: NodeJS.Timeout | null = null
  readonly #log: Logger

  /** @throws SQLite's error, with its `errcode` */
  constructor(db: DatabaseSync, maxBytes: number, log: Logger) {
    this.#db = db
    this.#maxBytes = maxBytes
    this.#log = log
    this.#get = this.#db.prepare('select body from answers where key = ?')
    this.#add = this.#db.prepare('insert or ignore into answers (key, body) values (?, ?)')
    const sum = this.#db.prepare('select coalesce(sum(length(body) + length(key)), 0) as bytes from answers').get()
    this.#bytes = Number(sum?.['bytes'] ?? 0)
  }

  get(key: string): Buffer | null {
    const unwritten = this.#unwritten.get(key)
    if (unwritten) return unwritten
    const body = this.#read(key)
    return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : null
  }

  #read(key: string): unknown {
    try {
      return this.#get.get(key)?.['body']
    } catch (error) {
      // Another gateway may have replaced a corrupt file, or may hold its lock for a long time.
      this.#log.warn({ error: (error as Error).message }, 'failed to read from the RPC cache')
      return undefined
    }
  }

  set(key: string, body: Buffer): void {
    // Bounds memory when writes arrive faster than the timer flushes them.
    if (this.#unwritten.size >= maxUnwritten) this.flush()
    this.#unwritten.set(key, body)
    this.#timer ??= setTimeout(() => this.flush(), flushMs).unref()
  }

  flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#unwritten.size === 0) return
    const rows = [...this.#unwritten]
    this.#unwritten.clear()
    try {
      this.#db.exec('begin immediate')
      for (const [key, body] of rows) if (this.#add.run(key, body).changes > 0) this.#bytes += body.length + key.length
      this.#evict()
      this.#db.exec('commit')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      // The disk may be full. The response is served, but not cached.
      this.#log.warn({ error: (error as Error).message }, 'failed to write to the RPC cache')
    }
  }

  close(): void {
    this.flush()
    this.#db.close()
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes) {
      const oldestIds = 'select id from answers order by id limit 32'
      const freed = this.#db
        .prepare(`select sum(length(body) + length(key)) as bytes from answers where id in (${oldestIds})`)
        .get()
      this.#db.exec(`delete from answers where id in (${oldestIds})`)
      const bytes = Number(freed?.['bytes'] ?? 0)
      if (bytes === 0) return
      this.#bytes -= bytes
    }
  }
}

/** Opens or creates the cache, and recreates a corrupt file. Returns null on failure: the gateway then runs without a disk cache. */
export function openDiskCache(file: string, maxBytes: number, log: Logger): DiskCache | null {
  const open = () => new DiskCache(openDatabase(file), maxBytes, log)
  try {
    mkdirSync(dirname(file), { recursive: true })
    return open()
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    const isCorrupt = errcode !== undefined && corruptionCodes.has(errcode & 0xff)
    log.warn({ error: message }, isCorrupt ? 'the RPC cache is corrupt and will be recreated' : openFailedMessage)
    if (!isCorrupt) return null
  }
  try {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    return open()
  } catch (error) {
    log.warn({ error: (error as Error).message }, openFailedMessage)
    return null
  }
}

const openFailedMessage = 'failed to open the RPC cache; responses are not cached on disk'

/** SQLITE_CORRUPT and SQLITE_NOTADB. Other errors, such as a lock held by another gateway, do not mean that the file is corrupt. */
const corruptionCodes = new Set([11, 26])

const schema =
  'create table if not exists answers (id integer primary key, key text not null unique, body blob not null)'

function openDatabase(file: string): DatabaseSync {
  if (!existsSync(file)) createDatabase(file)
  // Earlier releases created files that every user of the host could read. SQLite creates its other files with the mode of the
  // first.
  for (const suffix of ['', '-wal', '-shm']) makePrivate(`${file}${suffix}`)
  const db = new DatabaseSync(file, { timeout: busyMs })
  db.exec(`pragma synchronous = off; ${schema}`)
  return db
}

function makePrivate(path: string): void {
  try {
    chmodSync(path, 0o600)
  } catch (error) {
    // The last process that closes a database removes its -wal and -shm files, possibly at this moment.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/**
 * SQLite fails immediately, regardless of its timeout, when two processes switch one file to WAL at the same time. So each process
 * creates its own file, and the first one that is linked to the cache's path is used.
 */
function createDatabase(file: string): void {
  const newFile = `${file}.${process.pid}.new`
  rmSync(newFile, { force: true })
  try {
    closeSync(openSync(newFile, 'wx', 0o600))
    const db = new DatabaseSync(newFile)
    db.exec(`pragma journal_mode = wal; ${schema}`)
    db.close()
    linkSync(newFile, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(newFile, { force: true })
  }
}

export type { DiskCache }
