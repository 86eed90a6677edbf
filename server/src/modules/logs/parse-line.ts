import { guessLevel, levelNumber, parseLevel } from './levels.ts'

/** The stored form of a line. `fields` is JSON of all fields that have no separate column; plain lines have neither `fields` nor `ns`. */
export type ParsedLine = {
  /** The time in the line, in epoch milliseconds; null when it has none. */
  writtenAtMs: number | null
  /** The number of the level. */
  level: number
  ns: string | null
  message: string
  fields: string | null
}

/** Parses a line of a program: JSON as the SDK writes it, or plain text. Never throws. */
export function parseLine(line: string): ParsedLine {
  const text = withoutControls(line)
  const record = text.startsWith('{') ? parseRecord(text) : null
  const parsed = record && fromRecord(record)
  const isEmpty = parsed?.message === '' && parsed.ns === null && parsed.fields === null
  return parsed && !isEmpty ? parsed : fromText(text)
}

const fromText = (text: string): ParsedLine => ({
  writtenAtMs: null,
  level: levelNumber(guessLevel(text)),
  ns: null,
  message: text,
  fields: null,
})

function fromRecord(record: Record<string, unknown>): ParsedLine {
  const { level, time, ns, msg, ...rest } = record
  const columns = {
    writtenAtMs: timeOf(time),
    level: levelNumber(parseLevel(level) ?? 'INFO'),
    ns: typeof ns === 'string' ? withoutControls(ns) : null,
    message: typeof msg === 'string' ? withoutControls(msg) : '',
  }
  if (typeof ns !== 'string' && ns !== undefined) rest['ns'] = ns
  if (typeof msg !== 'string' && msg !== undefined) rest['msg'] = msg
  // The SDK logs errors without a message, and the public client does not show `err`: users would see an empty line.
  if (msg === undefined) columns.message = messageOfError(rest['err'])
  return { ...columns, fields: Object.keys(rest).length > 0 ? JSON.stringify(rest) : null }
}

function parseRecord(text: string): Record<string, unknown> | null {
  try {
    const record = JSON.parse(text) as Record<string, unknown>
    return isDeeperThan(record, maxDepth) ? null : record
  } catch {
    return null
  }
}

/** Deeper JSON is stored as plain text: functions that process it recursively, such as `JSON.stringify`, could overflow the stack. */
const maxDepth = 64

const isDeeperThan = (value: unknown, depth: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (depth === 0 || Object.values(value).some((child) => isDeeperThan(child, depth - 1)))

// Each alternative stops at the next escape character, so that even a line of incomplete sequences takes only linear time.
const controls =
  // eslint-disable-next-line no-control-regex -- detects control characters
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g
const colorSequence = /^.\[[\d;:]*m$/

/**
 * Removes control characters and escape sequences other than those of colours. A terminal that shows the line would execute them,
 * and Postgres cannot store NUL.
 */
const withoutControls = (text: string): string =>
  text.replace(controls, (control) => (colorSequence.test(control) ? control : ''))

function timeOf(time: unknown): number | null {
  const ms = typeof time === 'string' ? Date.parse(time) : time
  return typeof ms === 'number' && Number.isFinite(ms) ? Math.round(ms) : null
}

function messageOfError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const { stack, message } = error as { stack?: unknown; message?: unknown }
  const text = typeof stack === 'string' ? stack : message
  return typeof text === 'string' ? withoutControls(text) : ''
}

/** Returns the displayed form of a stored line: its text, or an object when it was JSON. */
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
 * Joins the frames of a stack trace, and the properties that Node prints after them, with the line of the error. `lines` are those of
 * one container, in order. A line that would make an entry longer than `maxLength` characters starts a new entry.
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
