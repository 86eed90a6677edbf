import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { tryConsumeRateLimit } from './rate-limits.ts'

const mailboxLimit = { calls: 10, perMs: hours(1) }

/**
 * Counts an email to a mailbox and returns whether the email may be sent, so that a mailbox cannot be flooded. Callers silently drop
 * emails that may not be sent. Each purpose is counted separately, so that sign-ups by others do not block the owner's recovery email.
 */
export async function isMailAllowed(
  app: App,
  purpose: 'confirm' | 'restore' | 'invitation' | 'organization',
  email: string,
): Promise<boolean> {
  return (await tryConsumeRateLimit(app, `mail:${purpose}:${hashSecret(email)}`, mailboxLimit)).isAllowed
}
