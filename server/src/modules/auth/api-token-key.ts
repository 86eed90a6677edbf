import { createHash, randomBytes } from 'node:crypto'

const tokenPrefix = 'shoal_'
const shownLength = tokenPrefix.length + 4

/** A fresh key of an API token: `shoal_` and 256 random bits. */
export const newApiTokenKey = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

export const isApiTokenKey = (key: string): boolean => key.startsWith(tokenPrefix)

/** What a list shows to recognise it by. */
export const shownPrefix = (key: string): string => key.slice(0, shownLength)

/** What is kept of a random secret: enough to find it again, nothing to use it. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')
