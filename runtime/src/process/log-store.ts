import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogAdmission, LogBatch, LogCursor, LogDrop, LogLine } from '../driver.ts'
import { readRecordFile } from './container-record.ts'
import { logEnd, logStartFile } from './log-start.ts'
import { LogTail, SHORTEN_BYTES, type TailOptions } from './log-tail.ts'
import { replaceFile } from './replace-file.ts'

/** Lines must be delivered within 200 ms. */
const POLL_MS = 100
/** Approximate maximum number of lines per batch, which bounds memory. */
const BATCH_LINES = 5000
/** Unread logs of removed containers are deleted after this time. */
const UNREAD_DAYS = 7

/** The log file of one container. Contains both stdout and stderr, to keep their order. */
export type LogSource = { id: string; workload: string; container: string; file: string }

/** The state of one reader. */
type Reading = {
  from: LogCursor
  /** Sizes of the logs when the reader started. */
  backlogEnds: Map<string, number>
  admits: LogAdmission
  tails: Map<string, LogTail>
  /** The time until which a log is not read, on the clock of `performance.now()`. */
  pausedUntil: Map<string, number>
}

/**
 * All logs of this host. The log of a removed container is kept in a separate directory until it has been read completely. Cursors
 * refer to log ids, so that a container is not confused with an earlier one of the same name.
 */
export class LogStore {
  readonly #unreadDir: string
  readonly #shortenBytes: number
  readonly #sources = new Map<string, LogSource & { isEnded: boolean }>()

  /** `programBytes`: by how much a log may grow while it is not read (see `Disks.containerBytes`); 0: unlimited. */
  constructor(unreadDir: string, programBytes = 0) {
    this.#unreadDir = unreadDir
    this.#shortenBytes = programBytes === 0 ? SHORTEN_BYTES : Math.min(SHORTEN_BYTES, programBytes / 4)
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
    replaceFile(this.#metaFile(id), JSON.stringify({ id, workload, container }))
    if (existsSync(logStartFile(source.file))) renameSync(logStartFile(source.file), logStartFile(file))
    renameSync(source.file, file)
    source.file = file
  }

  /** See `Runtime.logs`. Only one reader may exist at a time, since acknowledged lines are deleted. */
  async *read(from: LogCursor, signal: AbortSignal, admits: LogAdmission = () => true): AsyncGenerator<LogBatch> {
    const backlogEnds = new Map([...this.#sources.values()].map(({ id, file }) => [id, logEnd(file)]))
    const reading: Reading = { from, backlogEnds, admits, tails: new Map(), pausedUntil: new Map() }
    const { tails } = reading
    try {
      while (!signal.aborted) {
        const batch = this.#nextBatch(reading)
        if (batch) {
          yield batch
          // Requesting the next batch acknowledges this one.
          for (const id of Object.keys(batch.cursor)) tails.get(id)?.acknowledge()
        } else {
          const removed = this.#removeCompleted(tails)
          if (removed) yield removed
          else await sleep(POLL_MS, undefined, { signal }).catch(() => undefined)
        }
      }
    } finally {
      for (const tail of tails.values()) tail.close()
    }
  }

  /** Reads one chunk of every log with new content; null if there is none. */
  #nextBatch({ from, backlogEnds, admits, tails, pausedUntil }: Reading): LogBatch | null {
    const lines: LogLine[] = []
    const dropped: LogDrop[] = []
    const cursor: LogCursor = {}
    const readAt = new Date()
    const now = performance.now()
    for (const source of this.#sources.values()) {
      const { id, workload, container } = source
      if (now < (pausedUntil.get(id) ?? 0)) continue
      const options = { from: from[id], backlogEnd: backlogEnds.get(id) ?? 0, shortenBytes: this.#shortenBytes }
      const tail = tails.get(id) ?? openTail(source, options)
      if (!tail) continue
      tails.set(id, tail)
      const before = tail.position
      const isBacklog = tail.isInBacklog
      const part = tail.read((bytes) => admits({ workload, bytes, isBacklog }))
      for (const text of part.lines) lines.push({ workload, container, stream: 'stdout', text, readAt })
      if (part.droppedLines > 0)
        dropped.push({ workload, container, lines: part.droppedLines, isEstimate: part.isEstimate })
      // Otherwise the log of a program that never stops writing would be read, and dropped, without a pause.
      if (part.isRefused) pausedUntil.set(id, now + POLL_MS)
      if (tail.position === before) continue
      cursor[id] = tail.position
      if (lines.length < BATCH_LINES) continue
      this.#moveToEnd(id)
      break
    }
    return Object.keys(cursor).length > 0 ? { lines, dropped, cursor } : null
  }

  /** Moves a log behind the others, so that one with much output does not delay them. */
  #moveToEnd(id: string): void {
    const source = this.#sources.get(id)
    if (!source) return
    this.#sources.delete(id)
    this.#sources.set(id, source)
  }

  /** Deletes the logs of removed containers that have been read completely. The reader may drop their positions from its cursor. */
  #removeCompleted(tails: Map<string, LogTail>): LogBatch | null {
    const cursor: LogCursor = {}
    for (const { id, file, isEnded } of this.#sources.values()) {
      const tail = tails.get(id)
      if (!isEnded || !tail?.isAcknowledged) continue
      tail.close()
      tails.delete(id)
      this.#sources.delete(id)
      for (const path of [file, logStartFile(file), this.#metaFile(id)]) rmSync(path, { force: true })
      cursor[id] = ''
    }
    return Object.keys(cursor).length > 0 ? { lines: [], dropped: [], cursor } : null
  }

  #adopt(metaFile: string): void {
    // Null if the file is damaged, which must not prevent the start of the server.
    const meta = readRecordFile(metaFile) as Omit<LogSource, 'file'> | null
    if (meta === null) return rmSync(metaFile, { force: true })
    const file = join(this.#unreadDir, `${meta.id}.log`)
    const isTooOld = Date.now() - statSync(metaFile).mtimeMs > UNREAD_DAYS * 86_400_000
    if (isTooOld || !existsSync(file))
      for (const path of [file, logStartFile(file), metaFile]) rmSync(path, { force: true })
    else this.#sources.set(meta.id, { ...meta, file, isEnded: true })
  }

  #metaFile(id: string): string {
    return join(this.#unreadDir, `${id}.json`)
  }
}

/** Returns null if the container has not written anything yet. */
function openTail(source: LogSource, options: TailOptions): LogTail | null {
  return existsSync(source.file) ? new LogTail(() => source.file, options) : null
}
