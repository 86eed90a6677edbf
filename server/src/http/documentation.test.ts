import Fastify from 'fastify'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mountConsole } from './console.ts'
import { loadConfig } from '../config/config.ts'
import { mountDocumentation } from './documentation.ts'

/** Serves a small site beside the console, as the server does. */
async function serveSite(files: Record<string, string>) {
  const dist = mkdtempSync(join(tmpdir(), 'shoal-site-'))
  onTestFinished(() => rmSync(dist, { recursive: true }))
  mkdirSync(join(dist, 'assets'))
  mkdirSync(join(dist, 'operators'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dist, name), text)
  const server = Fastify()
  onTestFinished(() => server.close())
  await mountDocumentation(server, dist)
  await mountConsole(server, { config: loadConfig({}) }, join(dist, 'no-console'))
  return (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })
}

const files = {
  'csp.json': '{"scriptHashes":["sha256-abc="]}',
  'index.html': 'first page',
  'deploy.html': 'page about deployments',
  'deploy.html.br': 'compressed',
  'operators/index.html': 'page for operators',
  '404.html': 'no such page',
  'assets/style.abc.css': 'a {}',
}

test('pages have addresses without .html, a policy with the hashes of the build, and are revalidated', async () => {
  const get = await serveSite(files)
  for (const [url, text] of [
    ['/docs/', 'first page'],
    ['/docs/deploy', 'page about deployments'],
    ['/docs/deploy?q=1', 'page about deployments'],
    ['/docs/operators/', 'page for operators'],
  ] as const) {
    const { body, statusCode, headers } = await get(url)
    expect([url, statusCode, body]).toEqual([url, 200, text])
    expect(headers['content-type']).toContain('text/html')
    expect(headers['cache-control']).toBe('no-cache')
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("script-src 'self' 'sha256-abc=';")
    expect(policy.match(/[\w-]+ 'unsafe-\w+'/g)).toEqual(["style-src-attr 'unsafe-inline'"])
    expect((await get(url, { 'if-none-match': String(headers['etag']) })).statusCode).toBe(304)
  }
  expect((await get('/docs')).headers['location']).toBe('/docs/')
})

test('a page is sent compressed if the browser accepts that', async () => {
  const get = await serveSite(files)
  const { body, headers } = await get('/docs/deploy', { 'accept-encoding': 'gzip, br' })
  expect([body, headers['content-encoding']]).toEqual(['compressed', 'br'])
  expect(headers['content-type']).toContain('text/html')
})

test('files with hashed names are cached without limit', async () => {
  const get = await serveSite(files)
  const { headers } = await get('/docs/assets/style.abc.css')
  expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
})

test('an unknown address below /docs/ has a 404 page, and the console serves all other addresses', async () => {
  const get = await serveSite(files)
  for (const url of ['/docs/missing', '/docs/operators/missing', '/docs/csp.json']) {
    const { statusCode, body, headers } = await get(url)
    expect([url, statusCode, body]).toEqual([url, 404, 'no such page'])
    expect(headers['content-security-policy']).toContain("default-src 'none'")
  }
  expect((await get('/squids')).body).toContain('The console is not built')
})

test('without a build, the page explains how to build the documentation', async () => {
  const get = await serveSite({})
  const { statusCode, body } = await get('/docs/deploy')
  expect([statusCode, body]).toEqual([404, expect.stringContaining('not built')])
})
