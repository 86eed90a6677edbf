import { logLevels, type LogLevel } from '@shoal/contract'

/** Levels are stored by their index in the contract's list, from DEBUG 0 to FATAL 6. */
export const levelNumber = (level: LogLevel): number => logLevels.indexOf(level)
export const levelName = (number: number): LogLevel => logLevels[number] ?? 'INFO'

/** TRACE, DEBUG, INFO, WARN, ERROR, FATAL of the SDK (contract 4.2); the contract of the console has no TRACE. */
const sdkLevels: LogLevel[] = ['DEBUG', 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'FATAL']

const words: Record<string, LogLevel> = {
  trace: 'DEBUG',
  debug: 'DEBUG',
  verbose: 'DEBUG',
  log: 'INFO',
  info: 'INFO',
  notice: 'NOTICE',
  warn: 'WARNING',
  warning: 'WARNING',
  error: 'ERROR',
  err: 'ERROR',
  critical: 'CRITICAL',
  fatal: 'FATAL',
  panic: 'FATAL',
}

/** Level of a JSON line: the SDK's 0 to 5, the 10 to 60 of pino and bunyan, or a word. Null for anything else. */
export function statedLevel(level: unknown): LogLevel | null {
  if (typeof level === 'number') return sdkLevels[level >= 10 ? Math.floor(level / 10) - 1 : level] ?? null
  return typeof level === 'string' ? (words[level.toLowerCase()] ?? null) : null
}

/** `ERROR: …`, `[warn] …`, `npm error …`, `WARNING …`. */
const leadingWord = /^\W{0,3}(?:npm )?([a-z]{3,8})\b/i
const namedError = /^(?:uncaught |unhandled )?\w*(?:error|exception)\b/i
const stackFrame = /^\s+at .*[:)>]/
const nodeWarning = /^\(node:\d+\) /

/**
 * Level of a plain line. Drivers do not distinguish stdout from stderr, so it is guessed from the beginning of the line: programs
 * put the level there, and uncaught errors begin with the name of the error.
 */
export function guessedLevel(text: string): LogLevel {
  if (stackFrame.test(text) || namedError.test(text)) return 'ERROR'
  if (nodeWarning.test(text)) return 'WARNING'
  const word = leadingWord.exec(text)?.[1]?.toLowerCase()
  return (word && words[word]) || 'INFO'
}

/** The client's `error` means at least error, and its `info` includes notices: it has no other names (contract 4.2). */
const including: Partial<Record<string, LogLevel[]>> = {
  ERROR: ['ERROR', 'CRITICAL', 'FATAL'],
  INFO: ['INFO', 'NOTICE'],
  TRACE: ['DEBUG'],
  WARN: ['WARNING'],
}

/** The levels of a filter as numbers; unknown words match nothing. */
export function levelsQueried(levels: string[]): number[] {
  const names = levels.flatMap((level) => including[level] ?? logLevels.filter((name) => name === level))
  return [...new Set(names.map(levelNumber))]
}
