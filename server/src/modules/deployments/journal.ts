import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import type { Redactor } from '../secrets/index.ts'
import { appendLogs, nextLogSeq, type LogRow } from './log-store.ts'
import { storableText } from './storable.ts'

type Severity = LogRow['severity']

/** The log of one deployment, written by its worker: append-only, in order, in batches. */
export type Journal = {
  info: (message: string) => void
  warn: (message: string) => void
  error: (message: string) => void
  /** Output of programs, up to `maxOutputLines`; messages of the engine are always kept. */
  output: (severity: Severity, line: string) => void
  /** Resolves when all lines so far are in the database. @throws when they cannot be written */
  flush: () => Promise<void>
  /** Closes this writer: keeps pending lines, or drops them because another worker writes now. */
  close: (pending: 'keep' | 'drop') => Promise<void>
}

/** Lines of output a deployment keeps. */
export const maxOutputLines = 20_000
const maxCharacters = 4_000
const flushMs = 150
const batch = 1_000

/** `redactor` is called before lines are written, when it knows the secrets their programs received. */
type JournalOptions = { db: Db; clock: Clock; deploymentId: number; redactor: () => Promise<Redactor> }

export async function openJournal({ db, clock, deploymentId, redactor }: JournalOptions): Promise<Journal> {
  let seq = await nextLogSeq(db, deploymentId)
  let remaining = maxOutputLines - seq
  let pending: LogRow[] = []
  let writing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let failure: unknown = null

  const add = (severity: Severity, message: string) => {
    pending.push({ deploymentId, seq: seq++, at: clock.now(), severity, message: readable(message) })
    timer ??= setTimeout(write, flushMs)
  }
  const write = () => {
    if (timer) clearTimeout(timer)
    timer = null
    const rows = pending
    pending = []
    writing = append(writing, rows)
  }
  const append = async (before: Promise<void>, rows: LogRow[]) => {
    await before
    try {
      if (rows.length === 0) return
      const redact = await redactor()
      const clean = rows.map((row) => ({ ...row, message: cut(redact(row.message)) }))
      for (let at = 0; at < clean.length && failure === null; at += batch)
        await appendLogs(db, clean.slice(at, at + batch))
    } catch (error) {
      // Lines after a gap would have the wrong numbers: the next `flush` throws.
      failure ??= error
    }
  }
  const flush = async () => {
    write()
    await writing
    if (failure !== null) throw failure
  }
  return {
    info: (message) => add('info', message),
    warn: (message) => add('warn', message),
    error: (message) => add('error', message),
    output: (severity, line) => {
      remaining--
      if (remaining > 0) add(severity, line)
      if (remaining === 0) add('warn', `… the output is longer than ${maxOutputLines} lines; the rest is omitted.`)
    },
    flush,
    close: async (what) => {
      if (what === 'drop') failure ??= new Error('The log was closed')
      await flush().catch(() => {})
    },
  }
}

/** Without colours and NULs. */
const readable = (message: string): string => storableText(stripVTControlCharacters(message))

/** Limited in length. Called after redaction: half a secret would not be found. */
const cut = (text: string): string => (text.length > maxCharacters ? `${text.slice(0, maxCharacters)} … (cut)` : text)
