import { createHash, randomBytes } from 'node:crypto'

const tokenPrefix = 'shoal_'
const displayLength = tokenPrefix.length + 4

/** Generates an API token key: `shoal_` and 256 random bits. */
export const newApiTokenKey = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

export const isApiTokenKey = (key: string): boolean => key.startsWith(tokenPrefix)

/** The part of a key that is shown in lists. */
export const displayPrefix = (key: string): string => key.slice(0, displayLength)

/** The form in which a random secret is stored: the secret cannot be recovered from it. */
export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex')
