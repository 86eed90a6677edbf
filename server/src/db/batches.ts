/**
 * Splits rows into batches for one statement each. A statement with tens of thousands of rows would block this process while it is built,
 * and leave a Postgres process with the memory that it needed.
 */
export function* inBatches<T>(rows: readonly T[], size = 1_000): Generator<T[]> {
  for (let i = 0; i < rows.length; i += size) yield rows.slice(i, i + size)
}
