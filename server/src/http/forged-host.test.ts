import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { authJobs } from '../modules/auth/index.ts'
import { makeVersion } from '../modules/versions/testing/make-version.ts'
import { startTestApp, type TestApp, type TestOrg } from '../testing/index.ts'

const publicUrl = 'https://shoal.example.com'
const evil = 'evil.example.org'

/** False claims about the server's address that a caller may send, or that a proxy may pass on. */
const forgeries = {
  Host: { host: evil },
  'X-Forwarded-Host': { 'x-forwarded-host': evil, 'x-forwarded-proto': 'http', 'x-forwarded-port': '81' },
  Forwarded: { forwarded: `host=${evil};proto=http`, 'x-original-host': evil, 'x-host': evil },
}

describe.each([{ trustProxy: 'false' }, { trustProxy: 'true' }])(
  'with SHOAL_TRUST_PROXY=$trustProxy',
  ({ trustProxy }) => {
    let t: TestApp
    let url: string
    let org: TestOrg
    beforeAll(async () => {
      t = await startTestApp({
        env: {
          SHOAL_PUBLIC_URL: publicUrl,
          SHOAL_TRUST_PROXY: trustProxy,
          SHOAL_OUTBOX: 'true',
          SHOAL_GITHUB_CLIENT_ID: 'github-id',
          SHOAL_GITHUB_CLIENT_SECRET: 'github-secret',
        },
      })
      url = await t.listen()
      org = await t.make.org()
      await makeVersion(t.app, org)
      await t.as(org.admin).statusPage.update({
        params: { code: org.code },
        body: { isEnabled: true, title: 'Forged', slug: org.code, tags: [], alertKinds: [] },
      })
    })
    afterAll(() => t?.close())

    /** Sends a request with exactly this path and these headers, which fetch would change. `all`: headers and body of the response. */
    async function send(
      forged: Record<string, string>,
      path: string,
      { body, cookie = '' }: { body?: object; cookie?: string } = {},
    ) {
      const sent = request({
        port: new URL(url).port,
        path,
        method: body ? 'POST' : 'GET',
        headers: {
          ...(forged['host'] ? {} : { host: new URL(publicUrl).host }),
          ...forged,
          cookie,
          authorization: `token ${org.admin.token}`,
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
      })
      sent.end(body ? JSON.stringify(body) : undefined)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      const content = await text(response)
      return {
        status: response.statusCode ?? 0,
        location: response.headers.location,
        all: response.rawHeaders.join('\n') + content,
      }
    }

    describe.each(Object.entries(forgeries))('a forged %s', (kind, forged) => {
      test('appears in no response of the API, and in no redirect', async () => {
        const key = t.app.outboxKey ?? ''
        const outbox = await send(forged, `/outbox?key=${key}`)
        expect([outbox.status, outbox.location]).toEqual([302, '/outbox'])
        const provider = await send(forged, '/api/v1/oauth/github/url')
        expect(provider.all).toContain(encodeURIComponent(`${publicUrl}/oauth/github`))
        const squids = await send(forged, `/api/v1/orgs/${org.code}/squids`)
        expect(squids.all).toContain('test-squid')
        const responses = [
          outbox,
          provider,
          squids,
          ...(await Promise.all(
            [
              '/',
              '/squids',
              '/confirm-email?code=x',
              '/assets',
              '/api/docs',
              '/api/docs/',
              '/api/openapi.json',
              '/api/v1/auth/options',
              '/api/v1/unknown',
              '/status/unknown',
              `/status/${org.code}`,
              `/status/${org.code}.json`,
              `/status/${org.code}/feed.xml`,
              `/api/v1/orgs/${org.code}/rpc/token`,
            ].map((path) => send(forged, path, { cookie: `shoal_outbox=${key}` })),
          )),
          await send(forged, `/api/v1/orgs/${org.code}/deployments/upload-url`, { body: {} }),
        ]
        for (const { all } of responses) expect(all).not.toContain(evil)
      })

      test('appears in no email', async () => {
        const before = (await t.mails()).length
        const name = kind.toLowerCase()
        const restored = await send(forged, '/api/v1/auth/restore', { body: { email: org.admin.email } })
        expect(restored.status).toBe(201)
        const invited = await send(forged, `/api/v1/orgs/${org.code}/roles`, { body: { email: `${name}@example.com` } })
        expect(invited.status).toBe(201)
        await t.runJobs(authJobs(t.app))
        const mails = await t.mails()
        expect(mails).toHaveLength(before + 2)
        for (const { text, html } of mails.slice(0, 2)) {
          expect(text + html).not.toContain(evil)
          expect(text).toContain(`${publicUrl}/`)
        }
      })
    })

    test.each([
      `//${evil}/`,
      `/\\${evil}/`,
      `//${evil}/%2e%2e`,
      `/api//${evil}`,
      `/squids//${evil}`,
      `http://${evil}/outbox`,
    ])('the path %s does not redirect to another host', async (path) => {
      const { location = '' } = await send({}, path)
      expect(new URL(location, publicUrl).origin).toBe(publicUrl)
    })
  },
)
