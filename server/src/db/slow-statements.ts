/**
 * A statement that was slow in this process. Its time is that from sending it to receiving its last row, including waits for locks
 * and for this process.
 */
export type SlowStatement = {
  /** With placeholders instead of values, shortened. */
  text: string
  /** How often it was slow since this process started. */
  calls: number
  meanMs: number
  maxMs: number
}

/** A statement that takes at least this time is slow. */
export const slowMs = 250
const maxStatements = 100
const maxTextLength = 500

const byDatabase = new Map<string, Map<string, { calls: number; totalMs: number; maxMs: number }>>()

/** Replaces values in the text, and white space by single spaces. Null for statements that may contain a password. */
export function redactStatement(text: string): string | null {
  if (/password/i.test(text)) return null
  return text
    .replaceAll(/'(?:[^']|'')*'/g, "'…'")
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, maxTextLength)
}

/** Records how long a statement took, if it was slow. `url` is the URL of its database. */
export function recordStatement(url: string, text: unknown, elapsedMs: number): void {
  if (elapsedMs < slowMs || typeof text !== 'string') return
  const key = redactStatement(text)
  if (key === null) return
  const statements = byDatabase.get(url) ?? new Map<string, { calls: number; totalMs: number; maxMs: number }>()
  byDatabase.set(url, statements)
  const { calls, totalMs, maxMs } = statements.get(key) ?? { calls: 0, totalMs: 0, maxMs: 0 }
  // The least recently slow one is evicted.
  statements.delete(key)
  statements.set(key, { calls: calls + 1, totalMs: totalMs + elapsedMs, maxMs: Math.max(maxMs, elapsedMs) })
  const [oldest] = statements.keys()
  if (statements.size > maxStatements && oldest !== undefined) statements.delete(oldest)
}

/** Returns the statements of a database that took the most time in this process, at most `count`. */
export function slowStatements(url: string, count: number): SlowStatement[] {
  return [...(byDatabase.get(url) ?? [])]
    .sort(([, a], [, b]) => b.totalMs - a.totalMs)
    .slice(0, count)
    .map(([text, { calls, totalMs, maxMs }]) => ({
      text,
      calls,
      meanMs: Math.round(totalMs / calls),
      maxMs: Math.round(maxMs),
    }))
}
