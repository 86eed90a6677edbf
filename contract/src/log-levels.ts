/** The levels of log entries, by severity. They are in a separate file, so that pages that only show levels do not load zod. */
export const logLevels = ['DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'FATAL'] as const
export type LogLevel = (typeof logLevels)[number]

/** The container name of entries that report missing lines: dropped because of a limit, or skipped because the reader was too slow. */
export const gapContainer = 'shoal'
