import { expect, test } from 'vitest'
import { loadConfig } from '../config.ts'
import { contentSecurityPolicy, fillPage } from './console-page.ts'

const directive = (policy: string, name: string) =>
  policy
    .split('; ')
    .find((one) => one.startsWith(`${name} `))
    ?.split(' ')
    .slice(1)

test('the page says what this installation sets, and nothing can break out of it', () => {
  const html =
    '<meta name="shoal:support" content="a" /><meta name="shoal:sentry" content="" /><meta name="shoal:other" content="kept" />'
  const config = loadConfig({ SHOAL_SUPPORT_EMAIL: '"><script>', SHOAL_SENTRY_DSN: 'https://key@sentry.example.com/1' })
  expect(fillPage(html, config)).toBe(
    '<meta name="shoal:support" content="&#34;&#62;&#60;script&#62;" /><meta name="shoal:sentry" content="https://key@sentry.example.com/1" /><meta name="shoal:other" content="kept" />',
  )
})

test('scripts come from here, the two services that need their own, and the build', () => {
  const policy = contentSecurityPolicy(loadConfig({}), ['sha256-abc='])
  expect(directive(policy, 'script-src')).toEqual([
    "'self'",
    "'sha256-abc='",
    'https://challenges.cloudflare.com',
    'https://js.stripe.com',
  ])
  expect(directive(policy, 'frame-ancestors')).toEqual(["'none'"])
  expect(directive(policy, 'default-src')).toEqual(["'none'"])
})

test.each([
  [{}, 'http://localhost:4001'],
  [{ SHOAL_GATEWAY_URL: 'https://{org}.squids.example.com' }, 'https://*.squids.example.com'],
  [{ SHOAL_GATEWAY_URL: 'https://squids.example.com/{org}' }, 'https://squids.example.com'],
])('with %j it may talk to the gateway at %s', (env, origin) => {
  const sources = directive(contentSecurityPolicy(loadConfig(env), []), 'connect-src')
  expect(sources).toEqual(expect.arrayContaining([origin, origin.replace(/^http/, 'ws')]))
})

test('errors are reported to the Sentry of the installation only', () => {
  const env = { SHOAL_SENTRY_DSN: 'https://key@sentry.example.com/1' }
  expect(directive(contentSecurityPolicy(loadConfig(env), []), 'connect-src')).toContain('https://sentry.example.com')
  expect(contentSecurityPolicy(loadConfig({}), [])).not.toContain('sentry')
})
