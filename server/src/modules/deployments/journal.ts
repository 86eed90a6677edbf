import { stripVTControlCharacters } from 'node:util'
import { keepColours } from '@shoal/runtime'
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
  /** Resolves when all lines so far are in the database. @throws Error when they cannot be written */
  flush: () => Promise<void>
  /** Closes this writer. Pending lines are written, or dropped when another worker has taken over the deployment. */
  close: (pending: 'keep' | 'drop') => Promise<void>
}

/** The maximum number of output lines that the log of a deployment keeps. */
export const maxOutputLines = 20_000
/** The maximum length of a line. */
const maxCharacters = 4_000
/** The delay after which a new line is written, together with those that follow it. */
const flushMs = 150
const batchSize = 1_000

/** `redactor` is called only when lines are written, because it must contain the secrets that their programs received. */
type JournalOptions = { db: Db; clock: Clock; deploymentId: number; redactor: () => Promise<Redactor> }

/** Opens a writer that continues the log after its last line. */
export async function openJournal({ db, clock, deploymentId, redactor }: JournalOptions): Promise<Journal> {
  let seq = await nextLogSeq(db, deploymentId)
  let remaining = maxOutputLines - seq
  let pending: LogRow[] = []
  let lastWrite: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | null = null
  let failure: unknown = null

  const add = (severity: Severity, message: string) => {
    pending.push({ deploymentId, seq: seq++, at: clock.now(), severity, message: storableText(keepColours(message)) })
    timer ??= setTimeout(write, flushMs)
  }
  const write = () => {
    if (timer) clearTimeout(timer)
    timer = null
    const rows = pending
    pending = []
    lastWrite = append(lastWrite, rows)
  }
  const append = async (previous: Promise<void>, rows: LogRow[]) => {
    await previous
    try {
      if (rows.length === 0) return
      const redact = await redactor()
      const clean = rows.map((row) => ({ ...row, message: truncate(removeSecrets(row.message, redact)) }))
      for (let start = 0; start < clean.length && failure === null; start += batchSize)
        await appendLogs(db, clean.slice(start, start + batchSize))
    } catch (error) {
      // Later lines would leave a gap in the numbers, so they are not written either: the next `flush` throws.
      failure ??= error
    }
  }
  const flush = async () => {
    write()
    await lastWrite
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
    close: async (mode) => {
      if (mode === 'drop') failure ??= new Error('The log was closed')
      await flush().catch(() => {})
    },
  }
}

/** Removes secrets. A line that has one loses its colours, which could otherwise split the secret. */
function removeSecrets(message: string, redact: Redactor): string {
  const plain = stripVTControlCharacters(message)
  const clean = redact(plain)
  return clean === plain ? message : clean
}

/** Limits the length of a line. Called after redaction, which would not find half a secret. */
const truncate = (text: string): string =>
  text.length > maxCharacters ? `${stripVTControlCharacters(text).slice(0, maxCharacters)} … (cut)` : text
