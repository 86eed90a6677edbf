import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import { hashOf } from './api-token-key.ts'
import { tryToConsume } from './rate-limits.ts'

const perMailbox = { calls: 10, perMs: hours(1) }

/**
 * What goes to one mailbox at most, whoever asks: nobody can be flooded through us. Beyond it nothing is sent, and nobody is
 * told. Counted by purpose, so that a stranger's sign-ups do not keep the owner's recovery mail away.
 */
export async function isMailAllowed(
  app: App,
  purpose: 'confirm' | 'restore' | 'invitation' | 'organization',
  email: string,
): Promise<boolean> {
  return (await tryToConsume(app, `mail:${purpose}:${hashOf(email)}`, perMailbox)).isAllowed
}
