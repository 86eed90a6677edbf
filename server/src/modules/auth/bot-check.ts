import type { AuthOptions } from '@shoal/contract'
import type { App } from '../../app.ts'
import { isAltchaSolved } from './altcha.ts'
import { invalidField } from '../../errors.ts'
import { isTurnstileSolved } from './turnstile.ts'

/** Turnstile when its keys are set, else our own proof of work. */
export function botCheckOptions({ config }: App): AuthOptions['botCheck'] {
  const siteKey = config.SHOAL_TURNSTILE_SITE_KEY
  if (siteKey && config.SHOAL_TURNSTILE_SECRET_KEY) return { kind: 'turnstile', siteKey }
  return { kind: 'altcha', challengeUrl: '/api/v1/auth/challenge' }
}

/** @throws Refusal 400 when `solution` is wrong or was already used */
export async function checkBot(app: App, solution: string, ip: string): Promise<void> {
  const isSolved =
    botCheckOptions(app).kind === 'turnstile'
      ? await isTurnstileSolved(app, solution, ip)
      : await isAltchaSolved(app, solution)
  if (!isSolved) throw invalidField('turnstileToken', 'The bot check has expired or failed. Please solve it again.')
}
