/** What is known of log entries without their schema, for pages that validate nothing. */
export const logLevels = ['DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'FATAL'] as const
export type LogLevel = (typeof logLevels)[number]

/** An entry of a stream that says lines were left out because the reader was too slow. */
export const gapContainer = 'shoal'
