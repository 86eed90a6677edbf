import { stripVTControlCharacters } from 'node:util'

// oxlint-disable-next-line no-control-regex -- ANSI escape sequences start with a control character
const COLOUR = /(\u001b\[[0-9;]*m)/

/** Removes all escape sequences from a line except colours, which pages and terminals interpret when they show the line. */
export function keepColours(line: string): string {
  const parts = line.split(COLOUR)
  const text = parts.map((part, index) => (index % 2 === 0 ? stripVTControlCharacters(part) : part)).join('')
  // The client prints lines to a terminal, where a colour would continue in the next line.
  return parts.length === 1 || parts.at(-2) === RESET || parts.at(-2) === '\u001b[m' ? text : text + RESET
}

const RESET = '\u001b[0m'
