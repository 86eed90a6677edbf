import { createHash } from 'node:crypto'

/** Returns the idempotency key of a user's request. The public client repeats a POST when its connection breaks. */
export const requestKeyOf = (parts: Record<string, string | number | boolean | null>): string =>
  createHash('sha256')
    .update(JSON.stringify(Object.entries(parts).toSorted(([a], [b]) => (a < b ? -1 : 1))))
    .digest('hex')
