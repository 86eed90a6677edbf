import { createHash, timingSafeEqual } from 'node:crypto'

/** The form in which a random secret is stored: the secret cannot be recovered from it. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Compares two secrets in constant time. Compares their hashes, because `timingSafeEqual` requires equal lengths. */
export const isSameSecret = (given: string, expected: string): boolean =>
  timingSafeEqual(Buffer.from(hashSecret(given)), Buffer.from(hashSecret(expected)))
