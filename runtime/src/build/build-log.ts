import { stripVTControlCharacters } from 'node:util'
import type { BuildRequest } from '../builder.ts'
import { keepColours } from '../terminal-colours.ts'

/** Maximum output per build in the deployment's log. */
const MAX_LOGGED_BYTES = 2 * 1024 * 1024
const TAIL_LINES = 100
const MAX_LINE_CHARACTERS = 4000
/** Counted for each line in addition to its length, since a stored line has other columns. */
const LINE_OVERHEAD_BYTES = 100

/** Writes the output of a build's programs to the deployment's log with its colours, in bounded size. */
export class BuildLog {
  #log: BuildRequest['log']
  #loggedBytes = 0

  constructor(log: BuildRequest['log']) {
    this.#log = log
  }

  info(message: string): void {
    this.#log('info', message)
  }

  warn(message: string): void {
    this.#log('warn', message)
  }

  /** Captures the output of one program. `isQuiet`: keeps its last lines for a failure message, but does not log them. */
  capture(isQuiet: boolean): { onLine: (text: string) => void; tail: string[] } {
    const tail: string[] = []
    const onLine = (text: string) => {
      // Truncated first, since stripping takes quadratic time.
      const truncated = text.slice(0, MAX_LINE_CHARACTERS)
      const line = stripVTControlCharacters(truncated)
      tail.push(line)
      if (tail.length > TAIL_LINES) {
        tail.shift()
      }
      if (!isQuiet) {
        this.#output(line, keepColours(truncated))
      }
    }
    return { onLine, tail }
  }

  #output(line: string, coloured: string): void {
    const isFull = this.#loggedBytes > MAX_LOGGED_BYTES
    if (isFull || line.trim() === '') {
      return
    }
    this.#loggedBytes += coloured.length + LINE_OVERHEAD_BYTES
    this.#log(severityOf(line), coloured)
    if (this.#loggedBytes > MAX_LOGGED_BYTES) {
      this.warn('The build has written more than 2 MB: further output is omitted')
    }
  }
}

/** Derives the severity of a line from the markers of package managers and compilers. Lines without one are `info`, even on stderr. */
function severityOf(line: string): 'info' | 'warn' | 'error' {
  if (/^\s*(npm (error|ERR!)|ERR_PNPM|error\b)|\berror TS\d+/i.test(line)) {
    return 'error'
  }
  return /^\s*(npm warn|warning\b|WARN\b)/i.test(line) ? 'warn' : 'info'
}

/** Formats a duration, such as `0.4 s` or `83 s`. */
export function seconds(elapsedMs: number): string {
  return `${elapsedMs < 10_000 ? Math.round(elapsedMs / 100) / 10 : Math.round(elapsedMs / 1000)} s`
}

/** Formats a size, such as `0.3 MB` or `130 MB`. */
export function megabytes(bytes: number): string {
  return `${bytes < 10e6 ? Math.round(bytes / 1e5) / 10 : Math.round(bytes / 1e6)} MB`
}
