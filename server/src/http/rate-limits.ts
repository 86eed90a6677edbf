import type { Endpoint } from '@shoal/contract'
import type { App } from '../app.ts'
import { addressBlock, consume } from '../modules/auth/index.ts'
import type { Actor } from '../modules/call.ts'

/**
 * Counts one call against the endpoint's limit: of the account where one is known, since an office shares an address; of the
 * address otherwise.
 * @throws Refusal 429 with how long to wait
 */
export async function limitRate(app: App, name: string, e: Endpoint, ip: string, actor?: Actor): Promise<void> {
  if (!e.rateLimit) return
  const caller = actor ? `user:${actor.userId}` : `address:${addressBlock(ip)}`
  await consume(app, `call:${name}:${caller}`, e.rateLimit)
}
