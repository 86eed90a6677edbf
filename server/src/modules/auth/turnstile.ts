import { z } from 'zod'
import type { App } from '../../app.ts'
import { externalServices } from '../../config/external-services.ts'
import { fetchJson } from './fetch-json.ts'

const Verdict = z.object({ success: z.boolean(), 'error-codes': z.array(z.string()).default([]) })

/** Verifies a token with Cloudflare, which accepts it once. Also false when Cloudflare is unreachable: then sign-up fails, and it is logged. */
export async function isTurnstileSolved(app: App, token: string, ip: string): Promise<boolean> {
  const body = new URLSearchParams({
    secret: app.config.SHOAL_TURNSTILE_SECRET_KEY ?? '',
    response: token,
    remoteip: ip,
  })
  try {
    const url = app.external?.turnstileVerifyUrl ?? externalServices.turnstileVerifyUrl
    const verdict = Verdict.parse(await fetchJson(url, { body }))
    if (!verdict.success) app.log.info({ errorCodes: verdict['error-codes'] }, 'Turnstile refused a token')
    return verdict.success
  } catch (error) {
    app.log.error({ err: error }, 'Turnstile is unreachable')
    return false
  }
}
