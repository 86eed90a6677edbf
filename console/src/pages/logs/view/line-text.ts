import type { LogEntry } from '@shoal/contract'

/** The displayed parts of an entry. `ns` is the namespace of its logger, and `fields` are its other structured values; null if there are none. */
export type LineText = { ns: string; message: string; fields: Record<string, unknown> | null }

// The text of an `ESC ]` sequence contains no escape character: otherwise a line of incomplete sequences would take quadratic time.
// eslint-disable-next-line no-control-regex -- ANSI escape sequences start with a control character
const ansi = /[\u001b\u009b](?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[0-?]*[ -/]*[@-~])/g

/** Removes ANSI escape sequences. */
export const withoutAnsi = (text: string): string => (text.includes('\u001b') ? text.replaceAll(ansi, '') : text)

/** Separates the parts of an entry, without ANSI escape sequences. */
export function textOf({ payload }: Pick<LogEntry, 'payload'>): LineText {
  if (typeof payload === 'string') return { ns: '', message: withoutAnsi(payload), fields: null }
  const { ns, msg, ...fields } = payload
  delete fields['level']
  return {
    ns: typeof ns === 'string' ? ns : '',
    message: typeof msg === 'string' ? withoutAnsi(msg) : '',
    fields: Object.keys(fields).length > 0 ? fields : null,
  }
}

/** An entry as one line of text, for the clipboard. */
export function plainLine(entry: LogEntry): string {
  const { ns, message, fields } = textOf(entry)
  const parts = [entry.timestamp, entry.level, entry.container, ns, message, fields && JSON.stringify(fields)]
  return parts.filter(Boolean).join(' ')
}
