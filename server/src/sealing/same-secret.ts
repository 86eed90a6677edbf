import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares two secrets, or their hashes, in constant time. */
export const isSameSecret = (given: string, expected: string): boolean => timingSafeEqual(hash(given), hash(expected))

/** Of equal length for all inputs, as the comparison requires. */
const hash = (text: string) => createHash('sha256').update(text).digest()
