import { logLevels, type LogLevel } from '@shoal/contract'

/** Returns the number by which a level is stored: its index in the contract's list, from DEBUG 0 to FATAL 6. */
export const levelNumber = (level: LogLevel): number => logLevels.indexOf(level)
/** Returns the name of a stored level. */
export const levelName = (number: number): LogLevel => logLevels[number] ?? 'INFO'

/** The levels TRACE, DEBUG, INFO, WARN, ERROR, FATAL of the SDK, in order; the contract has no TRACE. */
const sdkLevels: LogLevel[] = ['DEBUG', 'DEBUG', 'INFO', 'WARNING', 'ERROR', 'FATAL']

/** A map, because a program may write any word as level, such as `constructor`, which is a property of every object. */
const levelOfWord = new Map<string, LogLevel>([
  ['trace', 'DEBUG'],
  ['debug', 'DEBUG'],
  ['verbose', 'DEBUG'],
  ['log', 'INFO'],
  ['info', 'INFO'],
  ['notice', 'NOTICE'],
  ['warn', 'WARNING'],
  ['warning', 'WARNING'],
  ['error', 'ERROR'],
  ['err', 'ERROR'],
  ['critical', 'CRITICAL'],
  ['fatal', 'FATAL'],
  ['panic', 'FATAL'],
])

/** Parses the level of a JSON line: the SDK's 0 to 5, the 10 to 60 of pino and bunyan, or a word. Null for anything else. */
export function parseLevel(level: unknown): LogLevel | null {
  if (typeof level === 'number') return sdkLevels[level >= 10 ? Math.floor(level / 10) - 1 : level] ?? null
  return typeof level === 'string' ? (levelOfWord.get(level.toLowerCase()) ?? null) : null
}

/** Matches `ERROR: …`, `[warn] …`, `npm error …`, `WARNING …`. */
const leadingWord = /^\W{0,3}(?:npm )?([a-z]{3,8})\b/i
const namedError = /^(?:uncaught |unhandled )?\w*(?:error|exception)\b/i
const stackFrame = /^\s+at .*[:)>]/
const nodeWarning = /^\(node:\d+\) /

/**
 * Guesses the level of a plain line from its beginning, because drivers do not distinguish stdout from stderr. Programs put the
 * level there, and uncaught errors begin with the name of the error.
 */
export function guessLevel(text: string): LogLevel {
  if (stackFrame.test(text) || namedError.test(text)) return 'ERROR'
  if (nodeWarning.test(text)) return 'WARNING'
  const word = leadingWord.exec(text)?.[1]?.toLowerCase()
  return (word && levelOfWord.get(word)) || 'INFO'
}

/** Names in queries that select several levels, or a level with another name. The public client has no names for the other levels. */
const levelsOfName = new Map<string, LogLevel[]>([
  ['ERROR', ['ERROR', 'CRITICAL', 'FATAL']],
  ['INFO', ['INFO', 'NOTICE']],
  ['TRACE', ['DEBUG']],
  ['WARN', ['WARNING']],
])

/** Returns the numbers of the levels that a query names; unknown names match nothing. */
export function parseLevels(levels: string[]): number[] {
  const names = levels.flatMap((level) => levelsOfName.get(level) ?? logLevels.filter((name) => name === level))
  return [...new Set(names.map(levelNumber))]
}
