import { createHash, randomBytes } from 'node:crypto'

const tokenPrefix = 'shoal_'
const displayLength = tokenPrefix.length + 4

/** A new API token key: `shoal_` and 256 random bits. */
export const newApiTokenKey = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

export const isApiTokenKey = (key: string): boolean => key.startsWith(tokenPrefix)

/** The part of a key that lists display. */
export const displayPrefix = (key: string): string => key.slice(0, displayLength)

/** The stored form of a random secret: can be looked up, but not used. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')
