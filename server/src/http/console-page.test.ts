import Fastify from 'fastify'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { startupText } from '../startup/startup-text.ts'
import { contentSecurityPolicy, fillSettings } from './console-page.ts'
import { mountConsole } from './console.ts'

const directive = (policy: string, name: string) =>
  policy
    .split('; ')
    .find((part) => part.startsWith(`${name} `))
    ?.split(' ')
    .slice(1)

const policyOf = (env: Record<string, string>) =>
  contentSecurityPolicy(loadConfig(env), { scriptHashes: ['sha256-abc='], styleNonce: 'n', imageOrigins: [] })

test('the page contains the settings of the installation, escaped', () => {
  const html =
    '<meta name="shoal:support" content="a" /><meta name="shoal:sentry" content="" /><meta name="shoal:other" content="kept" />'
  const config = loadConfig({ SHOAL_SUPPORT_EMAIL: '"><script>', SHOAL_SENTRY_DSN: 'https://key@sentry.example.com/1' })
  expect(fillSettings(html, config)).toBe(
    '<meta name="shoal:support" content="&#34;&#62;&#60;script&#62;" /><meta name="shoal:sentry" content="https://key@sentry.example.com/1" /><meta name="shoal:other" content="kept" />',
  )
})

test('the page links to the texts of the operator, by default to those of the release', () => {
  const html = ['terms', 'privacy', 'documentation'].map((name) => `<meta name="shoal:${name}" content="x" />`).join('')
  const operatorConfig = loadConfig({
    SHOAL_TERMS_URL: 'https://example.com/terms',
    SHOAL_PRIVACY_URL: 'https://example.com/privacy',
    SHOAL_DOCUMENTATION_URL: 'https://example.com/manual',
  })
  expect(fillSettings(html, operatorConfig)).toBe(
    '<meta name="shoal:terms" content="https://example.com/terms" /><meta name="shoal:privacy" content="https://example.com/privacy" /><meta name="shoal:documentation" content="https://example.com/manual" />',
  )
  expect(fillSettings(html, loadConfig({}))).toBe(
    '<meta name="shoal:terms" content="/docs/terms" /><meta name="shoal:privacy" content="/docs/privacy" /><meta name="shoal:documentation" content="/docs/" />',
  )
  expect(startupText({ config: loadConfig({}), outboxKey: null }, 1)).toContain('SHOAL_TERMS_URL')
  expect(startupText({ config: operatorConfig, outboxKey: null }, 1)).not.toContain('SHOAL_TERMS_URL')
  expect(() => loadConfig({ SHOAL_TERMS_URL: 'javascript:alert(1)' })).toThrow('SHOAL_TERMS_URL')
})

test('the policy allows scripts of this origin, the bot check and the build', () => {
  const policy = policyOf({})
  expect(directive(policy, 'script-src')).toEqual(["'self'", "'sha256-abc='", 'https://challenges.cloudflare.com'])
  expect(directive(policy, 'frame-ancestors')).toEqual(["'none'"])
  expect(directive(policy, 'default-src')).toEqual(["'none'"])
  expect(directive(policy, 'object-src')).toEqual(["'none'"])
  expect(directive(policy, 'base-uri')).toEqual(["'none'"])
})

test.each([
  [{}, 'http://localhost:4001'],
  [{ SHOAL_GATEWAY_URL: 'https://{org}.squids.example.com' }, 'https://*.squids.example.com'],
  [{ SHOAL_GATEWAY_URL: 'https://squids.example.com/{org}' }, 'https://squids.example.com'],
])('with %j the policy allows connections to the gateway at %s', (env, origin) => {
  const sources = directive(policyOf(env), 'connect-src')
  expect(sources).toEqual(expect.arrayContaining([origin, origin.replace(/^http/, 'ws')]))
})

test('the policy allows connections to Sentry only if it is configured', () => {
  const env = { SHOAL_SENTRY_DSN: 'https://key@sentry.example.com/1' }
  expect(directive(policyOf(env), 'connect-src')).toContain('https://sentry.example.com')
  expect(policyOf({})).not.toContain('sentry')
})

/** Serves a page like that of the build. */
async function servePage(env: Record<string, string>, html = '<meta property="csp-nonce" nonce="" />') {
  const dist = mkdtempSync(join(tmpdir(), 'shoal-console-'))
  onTestFinished(() => rmSync(dist, { recursive: true }))
  writeFileSync(join(dist, 'csp.json'), '{"scriptHashes":[]}')
  writeFileSync(join(dist, 'index.html'), html)
  const server = Fastify()
  onTestFinished(() => server.close())
  await mountConsole(server, { config: loadConfig(env) }, dist)
  return async (headers: Record<string, string> = {}) => {
    const response = await server.inject({ url: '/billing', headers })
    return { ...response, policy: String(response.headers['content-security-policy']) }
  }
}

test('each response has a new nonce for style elements, and is not cached', async () => {
  const get = await servePage({})
  const pages = await Promise.all([get(), get()])
  const nonces = pages.map(({ body, policy }) => {
    const nonce = /nonce="([\w+/=]{22,})"/.exec(body)?.[1]
    expect(directive(policy, 'style-src')).toEqual(["'self'", `'nonce-${nonce}'`])
    return nonce
  })
  expect(nonces[0]).not.toBe(nonces[1])
  for (const { headers } of pages) {
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['etag'] ?? headers['last-modified']).toBeUndefined()
  }
})

test.each([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
])('the page is compressed with %s if the browser accepts that', async (encoding, decompress) => {
  const { rawPayload, headers, policy } = await (await servePage({}))({ 'accept-encoding': `${encoding}, deflate` })
  expect(headers['content-encoding']).toBe(encoding)
  expect(policy).toContain(/nonce="([^"]+)"/.exec(decompress(rawPayload).toString())?.[1])
})

test('the policy allows no inline style elements, and no inline scripts', () => {
  const inline = policyOf({})
    .split('; ')
    .filter((directive) => directive.includes('unsafe-'))
  expect(inline).toEqual(["style-src-attr 'unsafe-inline'"])
})

test('the policy allows images of the sign-in providers and the configured icons only', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-rpc-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'rpc.yaml')
  writeFileSync(file, 'chains: { own: { iconUrl: https://icons.example.com/own.svg } }')
  const imagesOf = async (env: Record<string, string>) => directive((await (await servePage(env))()).policy, 'img-src')
  expect(await imagesOf({})).toEqual(["'self'", 'data:'])
  expect(
    await imagesOf({
      SHOAL_GOOGLE_CLIENT_ID: 'a',
      SHOAL_GOOGLE_CLIENT_SECRET: 'b',
      SHOAL_GITHUB_CLIENT_ID: 'c',
      SHOAL_GITHUB_CLIENT_SECRET: 'd',
      SHOAL_RPC_CONFIG: file,
    }),
  ).toEqual([
    "'self'",
    'data:',
    'https://*.googleusercontent.com',
    'https://avatars.githubusercontent.com',
    'https://icons.example.com',
  ])
})

test.each([
  [{}, false],
  [
    {
      SHOAL_STRIPE_SECRET_KEY: 'sk_test_1',
      SHOAL_STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
      SHOAL_STRIPE_WEBHOOK_SECRET: 'whsec_1',
    },
    true,
  ],
])('with %j the policy of the page allows Stripe: %s', async (env, isAllowed) => {
  const { policy } = await (await servePage(env))()
  const stripeSources = (name: string) => directive(policy, name)?.filter((source) => source.includes('stripe.com'))
  const scripts = ['https://js.stripe.com', 'https://*.js.stripe.com']
  expect(stripeSources('script-src')).toEqual(isAllowed ? scripts : [])
  expect(stripeSources('frame-src')).toEqual(isAllowed ? [...scripts, 'https://hooks.stripe.com'] : [])
  expect(stripeSources('connect-src')).toEqual(isAllowed ? ['https://api.stripe.com'] : [])
})
