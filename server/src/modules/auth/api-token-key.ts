import { randomBytes } from 'node:crypto'

const tokenPrefix = 'shoal_'
const displayLength = tokenPrefix.length + 4

/** Generates an API token key: `shoal_` and 256 random bits. */
export const newApiTokenKey = (): string => `${tokenPrefix}${randomBytes(32).toString('base64url')}`

export const isApiTokenKey = (key: string): boolean => key.startsWith(tokenPrefix)

/** The part of a key that is shown in lists. */
export const displayPrefix = (key: string): string => key.slice(0, displayLength)
