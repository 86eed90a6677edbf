import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogBatch, LogCursor, LogLine } from '../driver.ts'
import { LogTail, keptFromFile } from './log-tail.ts'

/** Lines must be delivered within 200 ms. */
const POLL_MS = 100
/** Maximum lines per batch; bounds memory. */
const BATCH_LINES = 5000
/** Logs of removed containers that were not read for this long are deleted. */
const UNREAD_DAYS = 7

/** The log file of one container. stdout and stderr are in one file, to keep their order. */
export type LogSource = { id: string; workload: string; container: string; file: string }

/**
 * All logs of this host. The log of a removed container is kept in a separate directory until it was read completely. Cursors
 * consist of log ids, so that a new container of the same name is not confused with the old one.
 */
export class LogStore {
  readonly #unreadDir: string
  readonly #sources = new Map<string, LogSource & { isEnded: boolean }>()

  constructor(unreadDir: string) {
    this.#unreadDir = unreadDir
    mkdirSync(unreadDir, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(unreadDir).filter((name) => name.endsWith('.json')))
      this.#adopt(join(unreadDir, name))
  }

  add(source: LogSource): void {
    this.#sources.set(source.id, { ...source, isEnded: false })
  }

  /** Marks a log as complete and moves it to the directory of unread logs. */
  end(id: string): void {
    const source = this.#sources.get(id)
    if (!source || source.isEnded) return
    if (!existsSync(source.file)) {
      this.#sources.delete(id)
      return
    }
    source.isEnded = true
    const { workload, container } = source
    const file = join(this.#unreadDir, `${id}.log`)
    writeFileSync(join(this.#unreadDir, `${id}.json`), JSON.stringify({ id, workload, container }))
    if (existsSync(keptFromFile(source.file))) renameSync(keptFromFile(source.file), keptFromFile(file))
    renameSync(source.file, file)
    source.file = file
  }

  /** See `Runtime.logs`. Supports one reader: acknowledged lines are deleted. */
  async *read(from: LogCursor, signal: AbortSignal): AsyncGenerator<LogBatch> {
    const tails = new Map<string, LogTail>()
    try {
      while (!signal.aborted) {
        const batch = this.#nextBatch(tails, from)
        if (batch) {
          yield batch
          // Requesting the next batch acknowledges this one.
          for (const id of Object.keys(batch.cursor)) tails.get(id)?.acknowledge()
        } else {
          const removed = this.#removeRead(tails)
          if (removed) yield removed
          else await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
        }
      }
    } finally {
      for (const tail of tails.values()) tail.close()
    }
  }

  /** Reads one piece of every log with new content. */
  #nextBatch(tails: Map<string, LogTail>, from: LogCursor): LogBatch | null {
    const lines: LogLine[] = []
    const cursor: LogCursor = {}
    const readAt = new Date()
    for (const source of this.#sources.values()) {
      const tail = tails.get(source.id) ?? openTail(source, from[source.id])
      if (!tail) continue
      tails.set(source.id, tail)
      const { workload, container } = source
      const before = tail.position
      for (const text of tail.read()) lines.push({ workload, container, stream: 'stdout', text, readAt })
      if (tail.position === before) continue
      cursor[source.id] = tail.position
      if (lines.length < BATCH_LINES) continue
      this.#moveToEnd(source.id)
      break
    }
    return Object.keys(cursor).length > 0 ? { lines, cursor } : null
  }

  /** Moves a log to the end of the next round, so that one with much output does not delay others. */
  #moveToEnd(id: string): void {
    const source = this.#sources.get(id)
    if (!source) return
    this.#sources.delete(id)
    this.#sources.set(id, source)
  }

  /** Deletes completed logs that were read entirely; the reader may drop their positions from the cursor. */
  #removeRead(tails: Map<string, LogTail>): LogBatch | null {
    const cursor: LogCursor = {}
    for (const { id, file, isEnded } of this.#sources.values()) {
      const tail = tails.get(id)
      if (!isEnded || !tail?.isAcknowledged) continue
      tail.close()
      tails.delete(id)
      this.#sources.delete(id)
      for (const path of [file, keptFromFile(file), this.#metaFile(id)]) rmSync(path, { force: true })
      cursor[id] = ''
    }
    return Object.keys(cursor).length > 0 ? { lines: [], cursor } : null
  }

  #adopt(metaFile: string): void {
    const meta: Omit<LogSource, 'file'> = JSON.parse(readFileSync(metaFile, 'utf8'))
    const file = join(this.#unreadDir, `${meta.id}.log`)
    const isTooOld = Date.now() - statSync(metaFile).mtimeMs > UNREAD_DAYS * 86_400_000
    if (isTooOld || !existsSync(file))
      for (const path of [file, keptFromFile(file), metaFile]) rmSync(path, { force: true })
    else this.#sources.set(meta.id, { ...meta, file, isEnded: true })
  }

  #metaFile(id: string): string {
    return join(this.#unreadDir, `${id}.json`)
  }
}

/** Null if nothing was written yet. */
function openTail(source: LogSource, from: string | undefined): LogTail | null {
  return existsSync(source.file) ? new LogTail(() => source.file, from) : null
}
