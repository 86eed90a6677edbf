import { existsSync, linkSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Logger } from 'pino'

const flushMs = 250
const maxWaiting = 500
const busyMs = 2_000

/**
 * Answers that never change, kept over restarts in one SQLite file: it needs no process of its own, survives kill -9, and may be
 * opened by several gateways of one host. The oldest go when it is full. Writing is done a little later, all at once.
 */
class DiskCache {
  readonly #maxBytes: number
  readonly #db: DatabaseSync
  readonly #get: ReturnType<DatabaseSync['prepare']>
  readonly #add: ReturnType<DatabaseSync['prepare']>
  readonly #waiting = new Map<string, Buffer>()
  #bytes: number
  #timer: NodeJS.Timeout | null = null
  readonly #log: Logger

  /** @throws Error of SQLite, with its `errcode` */
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
    const waiting = this.#waiting.get(key)
    if (waiting) return waiting
    const body = this.#read(key)
    return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : null
  }

  #read(key: string): unknown {
    try {
      return this.#get.get(key)?.['body']
    } catch (error) {
      // Another gateway may have replaced a broken file, or hold its lock for long.
      this.#log.warn({ error: (error as Error).message }, 'an RPC answer could not be read from disk')
      return undefined
    }
  }

  set(key: string, body: Buffer): void {
    // More than can be written in time is not worth the memory.
    if (this.#waiting.size >= maxWaiting) this.flush()
    this.#waiting.set(key, body)
    this.#timer ??= setTimeout(() => this.flush(), flushMs).unref()
  }

  flush(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#waiting.size === 0) return
    const rows = [...this.#waiting]
    this.#waiting.clear()
    try {
      this.#db.exec('begin immediate')
      for (const [key, body] of rows) if (this.#add.run(key, body).changes > 0) this.#bytes += body.length + key.length
      this.#evict()
      this.#db.exec('commit')
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback')
      // A full disk costs us the cache, not the answer.
      this.#log.warn({ error: (error as Error).message }, 'RPC answers could not be kept on disk')
    }
  }

  close(): void {
    this.flush()
    this.#db.close()
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes) {
      const oldest = 'select id from answers order by id limit 32'
      const freed = this.#db
        .prepare(`select sum(length(body) + length(key)) as bytes from answers where id in (${oldest})`)
        .get()
      this.#db.exec(`delete from answers where id in (${oldest})`)
      const bytes = Number(freed?.['bytes'] ?? 0)
      if (bytes === 0) return
      this.#bytes -= bytes
    }
  }
}

/** Null when the file can be neither used nor replaced: that costs the cache, not the gateway. */
export function openDiskCache(file: string, maxBytes: number, log: Logger): DiskCache | null {
  const open = () => new DiskCache(opened(file), maxBytes, log)
  try {
    mkdirSync(dirname(file), { recursive: true })
    return open()
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    const isBroken = errcode !== undefined && brokenFile.has(errcode & 0xff)
    log.warn({ error: message }, isBroken ? 'the cache of RPC answers was broken; a new one is made' : notKept)
    if (!isBroken) return null
  }
  try {
    for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
    return open()
  } catch (error) {
    log.warn({ error: (error as Error).message }, notKept)
    return null
  }
}

const notKept = 'the cache of RPC answers cannot be opened; answers are not kept on disk'

/** SQLITE_CORRUPT and SQLITE_NOTADB. Any other error, such as a lock of another gateway, says nothing about the file. */
const brokenFile = new Set([11, 26])

const schema =
  'create table if not exists answers (id integer primary key, key text not null unique, body blob not null)'

function opened(file: string): DatabaseSync {
  if (!existsSync(file)) create(file)
  const db = new DatabaseSync(file, { timeout: busyMs })
  db.exec(`pragma synchronous = off; ${schema}`)
  return db
}

/**
 * SQLite fails at once, whatever its timeout, when two processes switch one file to WAL at the same time. Each makes a file of its
 * own, therefore, and the first one to put it in its place wins.
 */
function create(file: string): void {
  const own = `${file}.${process.pid}.new`
  rmSync(own, { force: true })
  try {
    const db = new DatabaseSync(own)
    db.exec(`pragma journal_mode = wal; ${schema}`)
    db.close()
    linkSync(own, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(own, { force: true })
  }
}

export type { DiskCache }
