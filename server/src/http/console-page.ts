import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { escapeHtml } from '../mail/index.ts'
import { chainsOf } from '../modules/chains/index.ts'
import { compress, encodingOf } from './encoding.ts'
import { policyOf } from './security-headers.ts'

/** The quality of compression, from 1 to 9. The page is compressed for each response, since its nonce differs. */
const quality = 5

/** Creates a response with the page, in the best of the accepted encodings (`Accept-Encoding`). */
export type ConsolePage = (acceptedEncodings: string) => Promise<{ headers: Record<string, string>; body: Buffer }>

/**
 * Reads the built `index.html`, and returns a function that creates responses from it. A response has the settings of this installation, a
 * content security policy, and a new nonce for the `<style>` elements that libraries insert. The page must not be cached, since a nonce is for
 * one response; it also has no ETag, because a 304 would combine the nonce of a new header with that of an old page.
 */
export function readConsolePage(dist: string, config: Config): ConsolePage {
  const imageOrigins = imageOriginsOf(config)
  const { scriptHashes } = JSON.parse(readFileSync(join(dist, 'csp.json'), 'utf8')) as { scriptHashes: string[] }
  const html = fillSettings(readFileSync(join(dist, 'index.html'), 'utf8'), config)
  return async (acceptedEncodings) => {
    const nonce = randomBytes(16).toString('base64')
    const page = html.replace(noncePlaceholder, `$1${nonce}`)
    const encoding = encodingOf(acceptedEncodings)
    return {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': contentSecurityPolicy(config, { scriptHashes, styleNonce: nonce, imageOrigins }),
        vary: 'accept-encoding',
        ...(encoding && { 'content-encoding': encoding }),
      },
      body: encoding ? await compress(encoding, page, quality) : Buffer.from(page),
    }
  }
}

/** Libraries read the nonce from this tag of the page. */
const noncePlaceholder = /(<meta property="csp-nonce" nonce=")/

/** Writes settings into the `<meta name="shoal:…">` tags of the page. */
export function fillSettings(
  html: string,
  config: Pick<
    Config,
    'SHOAL_SUPPORT_EMAIL' | 'SHOAL_SENTRY_DSN' | 'SHOAL_TERMS_URL' | 'SHOAL_PRIVACY_URL' | 'SHOAL_DOCUMENTATION_URL'
  >,
): string {
  const settings = {
    support: config.SHOAL_SUPPORT_EMAIL,
    sentry: config.SHOAL_SENTRY_DSN ?? '',
    terms: config.SHOAL_TERMS_URL ?? '/docs/terms',
    privacy: config.SHOAL_PRIVACY_URL ?? '/docs/privacy',
    documentation: config.SHOAL_DOCUMENTATION_URL ?? '/docs/',
  }
  return html.replaceAll(/(<meta name="shoal:(\w+)" content=")[^"]*/g, (all, before: string, name: string) => {
    const value = settings[name as keyof typeof settings] as string | undefined
    return value === undefined ? all : `${before}${escapeHtml(value)}`
  })
}

/** Returns the origins of avatars, which sign-in providers host, and of the icons in SHOAL_RPC_CONFIG. */
function imageOriginsOf(config: Config): string[] {
  const avatars = [
    ...(config.SHOAL_GOOGLE_CLIENT_ID ? ['https://*.googleusercontent.com'] : []),
    ...(config.SHOAL_GITHUB_CLIENT_ID ? ['https://avatars.githubusercontent.com'] : []),
  ]
  const chains = chainsOf({ config }).all()
  const icons = chains.flatMap(({ iconUrl }) => (iconUrl ? [new URL(iconUrl).origin] : []))
  return [...new Set([...avatars, ...icons])]
}

const turnstile = 'https://challenges.cloudflare.com'
/** The sources that Stripe requires (docs.stripe.com/security/guide), for installations with Stripe keys. */
const stripe = {
  scripts: ['https://js.stripe.com', 'https://*.js.stripe.com'],
  connections: ['https://api.stripe.com'],
  frames: ['https://js.stripe.com', 'https://*.js.stripe.com', 'https://hooks.stripe.com'],
}
const noStripe: typeof stripe = { scripts: [], connections: [], frames: [] }

/**
 * Returns the content security policy of the console. It allows no inline scripts except those of the build, no `<style>` elements without
 * the nonce, and no framing.
 */
export function contentSecurityPolicy(
  config: Pick<Config, 'gatewayUrl' | 'SHOAL_SENTRY_DSN' | 'SHOAL_STRIPE_SECRET_KEY'>,
  { scriptHashes, styleNonce, imageOrigins }: { scriptHashes: string[]; styleNonce: string; imageOrigins: string[] },
): string {
  const paymentSources = config.SHOAL_STRIPE_SECRET_KEY ? stripe : noStripe
  const sentry = config.SHOAL_SENTRY_DSN ? [new URL(config.SHOAL_SENTRY_DSN).origin] : []
  // `{org}` may be part of the host name: https://{org}.squids.example.com
  const gateway = config.gatewayUrl.replace(/^(https?:\/\/)([^/]*)(.*)$/, (_, scheme: string, host: string) => {
    return scheme + host.replaceAll('{org}', '*')
  })
  return policyOf({
    'default-src': ["'none'"],
    'script-src': ["'self'", ...scriptHashes.map((hash) => `'${hash}'`), turnstile, ...paymentSources.scripts],
    'style-src': ["'self'", `'nonce-${styleNonce}'`],
    // The GraphQL editor creates the lines of its text as HTML with `style` attributes.
    'style-src-attr': ["'unsafe-inline'"],
    'font-src': ["'self'"],
    'img-src': ["'self'", 'data:', ...imageOrigins],
    'connect-src': ["'self'", gateway, gateway.replace(/^http/, 'ws'), ...paymentSources.connections, ...sentry],
    'frame-src': [turnstile, ...paymentSources.frames],
    // Sentry's session replay runs its compression worker from a blob.
    'worker-src': ["'self'", 'blob:'],
    'manifest-src': ["'self'"],
    'object-src': ["'none'"],
    'base-uri': ["'none'"],
    'form-action': ["'self'"],
    'frame-ancestors': ["'none'"],
  })
}
