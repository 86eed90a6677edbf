import type { AuthOptions } from '@shoal/contract'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { externalServices } from '../../config/external-services.ts'
import { invalidField } from '../../errors.ts'
import { isAltchaSolved } from './altcha.ts'
import { fetchJson } from './fetch-json.ts'

/** Returns the bot check that clients must solve: Turnstile if its keys are configured, otherwise a proof of work. */
export function botCheckOptions({ config }: App): AuthOptions['botCheck'] {
  const siteKey = config.SHOAL_TURNSTILE_SITE_KEY
  if (siteKey && config.SHOAL_TURNSTILE_SECRET_KEY) return { kind: 'turnstile', siteKey }
  return { kind: 'altcha', challengeUrl: '/api/v1/auth/challenge' }
}

/**
 * Verifies the solution of the bot check.
 * @throws Refusal 400 when `solution` is wrong or was already used
 */
export async function requireBotCheck(app: App, solution: string, ip: string): Promise<void> {
  const isSolved =
    botCheckOptions(app).kind === 'turnstile'
      ? await isTurnstileSolved(app, solution, ip)
      : await isAltchaSolved(app, solution)
  if (!isSolved) throw invalidField('turnstileToken', 'The bot check has expired or failed. Please solve it again.')
}

const Verdict = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).default([]) })

/** Verifies a token with Cloudflare, which accepts each token once. Returns false, and logs an error, when Cloudflare is unreachable. */
async function isTurnstileSolved(app: App, token: string, ip: string): Promise<boolean> {
  const body = new URLSearchParams({
    secret: app.config.SHOAL_TURNSTILE_SECRET_KEY ?? '',
    response: token,
    remoteip: ip,
  })
  try {
    const url = app.external?.turnstileVerifyUrl ?? externalServices.turnstileVerifyUrl
    const verdict = Verdict.parse(await fetchJson(url, { body }))
    if (!verdict.success) app.log.info({ errorCodes: verdict['error-codes'] }, 'Turnstile rejected a token')
    return verdict.success
  } catch (error) {
    app.log.error({ err: error }, 'Turnstile is unreachable')
    return false
  }
}
