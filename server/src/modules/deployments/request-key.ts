import { createHash } from 'node:crypto'

/** Identifies a user's request; the public client repeats a POST when its connection breaks (contract 1). */
export const requestKeyOf = (parts: Record<string, string | number | boolean | null>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(parts).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest('hex')
