import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Config } from '../config/config.ts'
import { escapeHtml } from '../mail/index.ts'

export type ConsolePage = { headers: Record<string, string>; plain: Buffer; br: Buffer; gzip: Buffer }

/** The built `index.html` with the settings of this installation and its content security policy. Read once, at startup. */
export function readConsolePage(dist: string, config: Config): ConsolePage {
  const { scriptHashes } = JSON.parse(readFileSync(join(dist, 'csp.json'), 'utf8')) as { scriptHashes: string[] }
  const plain = Buffer.from(fillPage(readFileSync(join(dist, 'index.html'), 'utf8'), config))
  return {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': contentSecurityPolicy(config, scriptHashes),
      vary: 'accept-encoding',
    },
    plain,
    br: brotliCompressSync(plain),
    gzip: gzipSync(plain),
  }
}

/** Writes settings into the `<meta name="shoal:…">` tags of the page. */
export function fillPage(
  html: string,
  config: Pick<Config, 'SHOAL_SUPPORT_EMAIL' | 'SHOAL_SENTRY_DSN' | 'SHOAL_TERMS_URL' | 'SHOAL_DOCUMENTATION_URL'>,
): string {
  const settings = {
    support: config.SHOAL_SUPPORT_EMAIL,
    sentry: config.SHOAL_SENTRY_DSN ?? '',
    terms: config.SHOAL_TERMS_URL ?? '',
    documentation: config.SHOAL_DOCUMENTATION_URL,
  }
  return html.replaceAll(/(<meta name="shoal:(\w+)" content=")[^"]*/g, (all, before: string, name: string) => {
    const value = settings[name as keyof typeof settings] as string | undefined
    return value === undefined ? all : `${before}${escapeHtml(value)}`
  })
}

const turnstile = 'https://challenges.cloudflare.com'
/** The sources that Stripe requires (docs.stripe.com/security/guide). Only for installations with Stripe keys. */
const stripe = {
  scripts: ['https://js.stripe.com', 'https://*.js.stripe.com'],
  connections: ['https://api.stripe.com'],
  frames: ['https://js.stripe.com', 'https://*.js.stripe.com', 'https://hooks.stripe.com'],
}
const noStripe: typeof stripe = { scripts: [], connections: [], frames: [] }

/** The content security policy of the console. It allows no inline scripts except those of the build, and no framing. */
export function contentSecurityPolicy(
  config: Pick<Config, 'gatewayUrl' | 'SHOAL_SENTRY_DSN' | 'SHOAL_STRIPE_SECRET_KEY'>,
  scriptHashes: string[],
): string {
  const payment = config.SHOAL_STRIPE_SECRET_KEY ? stripe : noStripe
  const sentry = config.SHOAL_SENTRY_DSN ? [new URL(config.SHOAL_SENTRY_DSN).origin] : []
  // `{org}` may be part of the host name: https://{org}.squids.example.com
  const gateway = config.gatewayUrl.replace(/^(https?:\/\/)([^/]*)(.*)$/, (_, scheme: string, host: string) => {
    return scheme + host.replaceAll('{org}', '*')
  })
  const directives = {
    'default-src': ["'none'"],
    'script-src': ["'self'", ...scriptHashes.map((hash) => `'${hash}'`), turnstile, ...payment.scripts],
    'style-src': ["'self'", "'unsafe-inline'"],
    'font-src': ["'self'"],
    // Icons of chains and avatars may be on any host.
    'img-src': ["'self'", 'data:', 'https:'],
    'connect-src': ["'self'", gateway, gateway.replace(/^http/, 'ws'), ...payment.connections, ...sentry],
    'frame-src': [turnstile, ...payment.frames],
    // Sentry's session replay runs its compression worker from a blob.
    'worker-src': ["'self'", 'blob:'],
    'manifest-src': ["'self'"],
    'base-uri': ["'none'"],
    'form-action': ["'self'"],
    'frame-ancestors': ["'none'"],
  }
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ')
}
