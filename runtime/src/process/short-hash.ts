import { createHash } from 'node:crypto'

/** Ten lower-case characters for names that must be short and safe. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10)
}
