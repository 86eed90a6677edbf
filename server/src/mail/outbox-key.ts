import { randomBytes } from 'node:crypto'
import type { App } from '../app.ts'
import type { Config } from '../config/config.ts'
import { isSameSecret } from '../sealing/hash-secret.ts'

/** The cookie of a browser that has opened the outbox with its key. Its value is the key. */
export const outboxCookie = 'shoal_outbox'

/**
 * Returns a new key to `/outbox` for this start: 256 random bits that only the operator's terminal shows. Returns null if this installation
 * has no outbox, because it has a mail server or the page is not enabled.
 */
export const newOutboxKey = (config: Config): string | null =>
  config.SHOAL_OUTBOX && !config.SHOAL_MAIL_URL ? randomBytes(32).toString('base64url') : null

/** Returns the URL of the outbox, without the key. */
export const outboxUrl = (config: Config): string => `${config.publicUrl}/outbox`

/** Whether `given` is the key of the outbox. False if there is no outbox. */
export function isOutboxKey({ outboxKey }: Pick<App, 'outboxKey'>, given: string | null | undefined): boolean {
  return outboxKey !== null && typeof given === 'string' && isSameSecret(given, outboxKey)
}
