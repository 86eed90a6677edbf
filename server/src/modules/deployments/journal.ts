import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import type { Redactor } from '../secrets/index.ts'
import { appendLogs, nextLogSeq, type LogRow } from './log-store.ts'
import { storableText } from './storable.ts'

type Severity = LogRow['severity']

/** The log of one deployment as its worker writes it: append-only, in order, in batches. */
export type Journal = {
  info: (message: string) => void
  warn: (message: string) => void
  error: (message: string) => void
  /** Output of programs, as many lines as there is room for; our own lines are always kept. */
  output: (severity: Severity, line: string) => void
  /** All lines so far are in the database afterwards. @throws when they cannot be written */
  flush: () => Promise<void>
  /** The end of this writer: keeps what is still on its way, or drops it because another worker writes now. */
  close: (waiting: 'keep' | 'drop') => Promise<void>
}

/** Lines of output a deployment keeps. */
export const maxOutputLines = 20_000
const maxCharacters = 4_000
const flushMs = 150
const batch = 1_000

/** `redactor` is asked for before lines are written: by then it knows what their programs were given. */
type JournalOptions = { db: Db; clock: Clock; deploymentId: number; redactor: () => Promise<Redactor> }

export async function openJournal({ db, clock, deploymentId, redactor }: JournalOptions): Promise<Journal> {
  let seq = await nextLogSeq(db, deploymentId)
  let room = maxOutputLines - seq
  let waiting: LogRow[] = []
  let writing: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let failure: unknown = null

  const add = (severity: Severity, message: string) => {
    waiting.push({ deploymentId, seq: seq++, at: clock.now(), severity, message: readable(message) })
    timer ??= setTimeout(write, flushMs)
  }
  const write = () => {
    if (timer) clearTimeout(timer)
    timer = null
    const rows = waiting
    waiting = []
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
      // After a gap later lines would stand in the wrong place: whoever waits next learns of it.
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
      room--
      if (room > 0) add(severity, line)
      if (room === 0) add('warn', `… the output is longer than ${maxOutputLines} lines; the rest is left out.`)
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

/** Not endless. What must be hidden was hidden before: half a value would not be found. */
const cut = (text: string): string => (text.length > maxCharacters ? `${text.slice(0, maxCharacters)} … (cut)` : text)
