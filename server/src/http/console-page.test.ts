import Fastify from 'fastify'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../config/config.ts'
import { startupText } from '../startup/startup-text.ts'
import { contentSecurityPolicy, fillPage } from './console-page.ts'
import { mountConsole } from './console.ts'

const directive = (policy: string, name: string) =>
  policy
    .split('; ')
    .find((one) => one.startsWith(`${name} `))
    ?.split(' ')
    .slice(1)

test('the page contains the settings of the installation, escaped', () => {
  const html =
    '<meta name="shoal:support" content="a" /><meta name="shoal:sentry" content="" /><meta name="shoal:other" content="kept" />'
  const config = loadConfig({ SHOAL_SUPPORT_EMAIL: '"><script>', SHOAL_SENTRY_DSN: 'https://key@sentry.example.com/1' })
  expect(fillPage(html, config)).toBe(
    '<meta name="shoal:support" content="&#34;&#62;&#60;script&#62;" /><meta name="shoal:sentry" content="https://key@sentry.example.com/1" /><meta name="shoal:other" content="kept" />',
  )
})

test('terms and documentation are those of the operator, and terms are empty by default', () => {
  const html = '<meta name="shoal:terms" content="x" /><meta name="shoal:documentation" content="x" />'
  const own = loadConfig({
    SHOAL_TERMS_URL: 'https://example.com/terms',
    SHOAL_DOCUMENTATION_URL: 'https://example.com/docs',
  })
  expect(fillPage(html, own)).toBe(
    '<meta name="shoal:terms" content="https://example.com/terms" /><meta name="shoal:documentation" content="https://example.com/docs" />',
  )
  expect(fillPage(html, loadConfig({}))).toBe(
    '<meta name="shoal:terms" content="" /><meta name="shoal:documentation" content="https://docs.sqd.dev/" />',
  )
  expect(startupText(loadConfig({}), 1)).toContain('SHOAL_TERMS_URL')
  expect(startupText(own, 1)).not.toContain('SHOAL_TERMS_URL')
  expect(() => loadConfig({ SHOAL_TERMS_URL: 'javascript:alert(1)' })).toThrow('SHOAL_TERMS_URL')
})

test('the policy allows scripts of this origin, the bot check and the build', () => {
  const policy = contentSecurityPolicy(loadConfig({}), ['sha256-abc='])
  expect(directive(policy, 'script-src')).toEqual(["'self'", "'sha256-abc='", 'https://challenges.cloudflare.com'])
  expect(directive(policy, 'frame-ancestors')).toEqual(["'none'"])
  expect(directive(policy, 'default-src')).toEqual(["'none'"])
})

test.each([
  [{}, 'http://localhost:4001'],
  [{ SHOAL_GATEWAY_URL: 'https://{org}.squids.example.com' }, 'https://*.squids.example.com'],
  [{ SHOAL_GATEWAY_URL: 'https://squids.example.com/{org}' }, 'https://squids.example.com'],
])('with %j the policy allows connections to the gateway at %s', (env, origin) => {
  const sources = directive(contentSecurityPolicy(loadConfig(env), []), 'connect-src')
  expect(sources).toEqual(expect.arrayContaining([origin, origin.replace(/^http/, 'ws')]))
})

test('the policy allows connections to Sentry only if it is configured', () => {
  const env = { SHOAL_SENTRY_DSN: 'https://key@sentry.example.com/1' }
  expect(directive(contentSecurityPolicy(loadConfig(env), []), 'connect-src')).toContain('https://sentry.example.com')
  expect(contentSecurityPolicy(loadConfig({}), [])).not.toContain('sentry')
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
  const dist = mkdtempSync(join(tmpdir(), 'shoal-console-'))
  onTestFinished(() => rmSync(dist, { recursive: true }))
  writeFileSync(join(dist, 'csp.json'), '{"scriptHashes":[]}')
  writeFileSync(join(dist, 'index.html'), '<!doctype html>')
  const server = Fastify()
  onTestFinished(() => server.close())
  await mountConsole(server, { config: loadConfig(env) }, dist)
  const { headers } = await server.inject({ url: '/billing' })
  const policy = String(headers['content-security-policy'])
  const ofStripe = (name: string) => directive(policy, name)?.filter((source) => source.includes('stripe.com'))
  const scripts = ['https://js.stripe.com', 'https://*.js.stripe.com']
  expect(ofStripe('script-src')).toEqual(isAllowed ? scripts : [])
  expect(ofStripe('frame-src')).toEqual(isAllowed ? [...scripts, 'https://hooks.stripe.com'] : [])
  expect(ofStripe('connect-src')).toEqual(isAllowed ? ['https://api.stripe.com'] : [])
})
