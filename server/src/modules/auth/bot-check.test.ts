import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { solveBotCheck, startTestApp, type TestApp } from '../../testing/index.ts'

const signUp = (t: TestApp, turnstileToken: string) =>
  t.as(null).auth.signUp({
    body: { email: 'new@example.com', fullName: 'New', password: 'long enough', turnstileToken },
  })
const rejected = {
  status: 400,
  message: 'The bot check has expired or failed. Please solve it again.',
  body: { invalidFields: [{ path: ['turnstileToken'] }] },
}

describe('proof of work', () => {
  let t: TestApp
  beforeAll(async () => void (t = await startTestApp()))
  afterAll(() => t.close())

  test('a solution is accepted only once', async () => {
    const solution = await solveBotCheck(t)
    await expect(signUp(t, solution)).resolves.toMatchObject({})
    await expect(signUp(t, solution)).rejects.toMatchObject(rejected)
  })

  test('a challenge expires after an hour', async () => {
    const solution = await solveBotCheck(t)
    t.clock.advance(minutes(60))
    await expect(signUp(t, solution)).rejects.toMatchObject(rejected)
  })

  test('a wrong solution, another signature and changed parameters are rejected', async () => {
    const { challenge, solution } = JSON.parse(Buffer.from(await solveBotCheck(t), 'base64').toString()) as {
      challenge: { parameters: Record<string, unknown>; signature: string }
      solution: { counter: number; derivedKey: string }
    }
    const forgeries = [
      { challenge, solution: { ...solution, counter: solution.counter + 1 } },
      { challenge, solution: { ...solution, derivedKey: `00${'1'.repeat(62)}` } },
      { challenge: { ...challenge, signature: 'f'.repeat(64) }, solution },
      { challenge: { ...challenge, parameters: { ...challenge.parameters, keyPrefix: '' } }, solution },
      { challenge: { ...challenge, parameters: { ...challenge.parameters, data: { expiresAtMs: 9e15 } } }, solution },
    ]
    for (const forgery of forgeries)
      await expect(signUp(t, Buffer.from(JSON.stringify(forgery)).toString('base64'))).rejects.toMatchObject(rejected)
    for (const nonsense of ['nonsense', 'e30=', 'bnVsbA=='])
      await expect(signUp(t, nonsense)).rejects.toMatchObject(rejected)
  })
})

describe('Turnstile', () => {
  let t: TestApp
  const requests: URLSearchParams[] = []
  let nextResponse = { status: 200, body: '{"success":true}' }
  const cloudflare = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    requests.push(new URLSearchParams(body))
    response.writeHead(nextResponse.status, { 'content-type': 'application/json' }).end(nextResponse.body)
  })
  beforeAll(async () => {
    await new Promise<void>((done) => void cloudflare.listen(0, '127.0.0.1', done))
    t = await startTestApp({
      env: { SHOAL_TURNSTILE_SITE_KEY: 'site', SHOAL_TURNSTILE_SECRET_KEY: 'secret' },
      external: { turnstileVerifyUrl: `http://127.0.0.1:${(cloudflare.address() as AddressInfo).port}/siteverify` },
    })
  })
  afterAll(async () => {
    await new Promise((done) => cloudflare.close(done))
    await t.close()
  })

  test('is offered when its keys are set, and verifies each token', async () => {
    expect((await t.as(null).auth.getOptions()).botCheck).toEqual({ kind: 'turnstile', siteKey: 'site' })
    await expect(signUp(t, 'a token')).resolves.toMatchObject({})
    expect(Object.fromEntries(requests[0] ?? [])).toEqual({
      secret: 'secret',
      response: 'a token',
      remoteip: '127.0.0.1',
    })
  })

  test.each([
    ['rejects the token', 200, '{"success":false,"error-codes":["timeout-or-duplicate"]}'],
    ['fails', 500, '{"success":true}'],
    ['returns invalid JSON', 200, 'nonsense'],
  ])('sign-up fails when Turnstile %s', async (_, status, body) => {
    nextResponse = { status, body }
    await expect(signUp(t, 'a token')).rejects.toMatchObject(rejected)
  })
})
