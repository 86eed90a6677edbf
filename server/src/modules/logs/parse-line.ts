import { guessedLevel, levelNumber, statedLevel } from './levels.ts'

/** The stored form of a line. `fields` is JSON of everything without a column of its own; plain lines have neither it nor `ns`. */
export type ParsedLine = {
  /** The time in the line, in epoch milliseconds; null when it has none. */
  writtenAtMs: number | null
  /** Number of the level. */
  level: number
  ns: string | null
  message: string
  fields: string | null
}

/** Parses a line of a program: JSON as the SDK writes it (contract 4.2), or plain text. Never throws. */
export function parseLine(line: string): ParsedLine {
  // Postgres text cannot contain NUL.
  const text = line.includes('\0') ? line.replaceAll('\0', '') : line
  const record = text.startsWith('{') ? parseRecord(text) : null
  const parsed = record && fromRecord(record)
  const isEmpty = parsed?.message === '' && parsed.ns === null && parsed.fields === null
  return parsed && !isEmpty ? parsed : fromText(text)
}

const fromText = (text: string): ParsedLine => ({
  writtenAtMs: null,
  level: levelNumber(guessedLevel(text)),
  ns: null,
  message: text,
  fields: null,
})

function fromRecord(record: Record<string, unknown>): ParsedLine {
  const { level, time, ns, msg, ...rest } = record
  const known = {
    writtenAtMs: timeOf(time),
    level: levelNumber(statedLevel(level) ?? 'INFO'),
    ns: typeof ns === 'string' ? withoutNul(ns) : null,
    message: typeof msg === 'string' ? withoutNul(msg) : '',
  }
  if (typeof ns !== 'string' && ns !== undefined) rest['ns'] = ns
  if (typeof msg !== 'string' && msg !== undefined) rest['msg'] = msg
  // The SDK logs an error without a message, and the public client does not show `err` (contract 2.6): it would show nothing.
  if (msg === undefined) known.message = messageOfError(rest['err'])
  return { ...known, fields: Object.keys(rest).length > 0 ? JSON.stringify(rest) : null }
}

function parseRecord(text: string): Record<string, unknown> | null {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return null
  }
}

const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', '') : text)

function timeOf(time: unknown): number | null {
  const ms = typeof time === 'string' ? Date.parse(time) : time
  return typeof ms === 'number' && Number.isFinite(ms) ? Math.round(ms) : null
}

function messageOfError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { stack, message } = error as { stack?: unknown; message?: unknown }
  const text = typeof stack === 'string' ? stack : message
  return typeof text === 'string' ? withoutNul(text) : ''
}

/** The displayed form of a stored line (contract 2.6): its text, or an object when it was JSON. */
export function payloadOf(
  line: { ns: string | null; message: string; fields: string | null },
  level: string,
): string | Record<string, unknown> {
  if (line.ns === null && line.fields === null) return line.message
  return {
    level,
    ...(line.ns === null ? {} : { ns: line.ns }),
    ...(line.message === '' ? {} : { msg: line.message }),
    ...(line.fields === null ? {} : (JSON.parse(line.fields) as Record<string, unknown>)),
  }
}

const stackFrame = /^\s+at /
const indentedOrClosing = /^\s|^[}\]]/

/**
 * Joins the frames of a stack, and the properties that Node prints after them, with the line of the error.
 * `lines` are of one container, in order; text beyond `maxLength` characters starts a new entry.
 */
export function joinStacks<T extends { text: string }>(lines: T[], maxLength = 65_536): T[] {
  const joined: T[] = []
  let linesOfLast = 0
  for (const line of lines) {
    const last = joined.at(-1)
    const isFrame = stackFrame.test(line.text) || (linesOfLast > 1 && indentedOrClosing.test(line.text))
    if (last && isFrame && !last.text.startsWith('{') && last.text.length + line.text.length < maxLength) {
      linesOfLast++
      joined[joined.length - 1] = { ...last, text: `${last.text}\n${line.text}` }
    } else {
      joined.push(line)
      linesOfLast = 1
    }
  }
  return joined
}
