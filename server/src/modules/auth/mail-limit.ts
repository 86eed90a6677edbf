import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import { hashOf } from './api-token-key.ts'
import { tryToConsume } from './rate-limits.ts'

const perMailbox = { calls: 10, perMs: hours(1) }

/**
 * Limits mails to one mailbox regardless of the sender, so that it cannot be flooded. Mails beyond the limit are dropped silently.
 * Counted by purpose, so that sign-ups by others do not block the owner's recovery mail.
 */
export async function isMailAllowed(
  app: App,
  purpose: 'confirm' | 'restore' | 'invitation' | 'organization',
  email: string,
): Promise<boolean> {
  return (await tryToConsume(app, `mail:${purpose}:${hashOf(email)}`, perMailbox)).isAllowed
}
