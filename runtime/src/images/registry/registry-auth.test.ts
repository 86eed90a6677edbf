import { execFileSync } from 'node:child_process'
import { createPrivateKey, randomBytes, sign } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Registry, hasRegistry, startRegistry } from '../../../../scripts/registry.ts'
import { digestOf } from './blob.ts'
import type { Credentials } from './credentials.ts'
import { parseRegistry } from './registry-address.ts'
import { RegistryClient } from './registry-client.ts'

const { signal } = new AbortController()
// On a loaded machine, programs start slowly.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let folder: string
let tokenServer: Server
let registry: Registry
/** The received token requests. `credentials`: `user:password`, or an identity token. */
let tokenRequests: { method: string; credentials: string; scopes: string[] }[]
/** The lifetime of tokens that the token server reports. They are valid for longer. */
let reportedLifetimeS: number

/** Signs a token for the scopes, as the token specification of Docker's registry defines it. */
function tokenFor(scopes: string[]): string {
  const certificate = readFileSync(join(folder, 'certificate.pem'), 'utf8').replace(/-----[^-]+-----|\s/g, '')
  const now = Math.floor(Date.now() / 1000)
  const access = scopes.map((scope) => {
    const [type, name, actions = ''] = scope.split(':')
    return { type, name, actions: actions.split(',') }
  })
  const payload = {
    iss: 'issuer',
    aud: 'registry',
    sub: 'me',
    iat: now,
    nbf: now - 10,
    exp: now + 300,
    jti: 'x',
    access,
  }
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const unsigned = `${encode({ alg: 'ES256', typ: 'JWT', x5c: [certificate] })}.${encode(payload)}`
  const key = createPrivateKey(readFileSync(join(folder, 'key.pem')))
  return `${unsigned}.${sign('sha256', Buffer.from(unsigned), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'token-'))
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'certificate.pem')]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=issuer']
  execFileSync('openssl', ['req', ...kind, ...files], { stdio: 'ignore' })
  tokenServer = createServer((request, response) => {
    void (async () => {
      const body = new URLSearchParams(await text(request))
      const query = new URL(request.url ?? '', 'http://localhost').searchParams
      const basic = Buffer.from((request.headers.authorization ?? '').replace('Basic ', ''), 'base64').toString()
      const credentials = body.get('refresh_token') ?? basic
      const scopes = [...query.getAll('scope'), ...body.getAll('scope')]
      tokenRequests.push({ method: request.method ?? '', credentials, scopes })
      if (!['me:a-password', 'an-identity-token'].includes(credentials)) {
        response.writeHead(401).end('{"errors":[]}')
        return
      }
      const token = tokenFor(scopes)
      const isIdentityToken = credentials === 'an-identity-token'
      response.end(JSON.stringify(isIdentityToken ? { access_token: token } : { token, expires_in: reportedLifetimeS }))
    })()
  })
  await new Promise<void>((resolve) => tokenServer.listen(0, '127.0.0.1', resolve))
  const realm = `http://127.0.0.1:${(tokenServer.address() as AddressInfo).port}/token`
  registry = await startRegistry({ token: { realm, certificateFile: join(folder, 'certificate.pem') } })
})

beforeEach(() => {
  tokenRequests = []
  reportedLifetimeS = 300
})

afterAll(async () => {
  await registry?.stop()
  tokenServer?.close()
  rmSync(folder, { recursive: true, force: true })
})

const clientWith = (credentials: Credentials | null) =>
  new RegistryClient(parseRegistry(registry.host), async () => credentials)

async function push(client: RegistryClient, repository: string): Promise<string> {
  const content = randomBytes(100_000)
  const digest = digestOf(content)
  const blob = { digest, size: content.length, open: () => Readable.from([content]) }
  await client.pushBlob(repository, blob, signal)
  return digest
}

describe.skipIf(!hasRegistry)('with a registry', () => {
  test('requests one token for a repository, and another one to mount its layer in a second repository', async () => {
    const client = clientWith({ username: 'me', password: 'a-password' })
    const digest = await push(client, 'a')
    expect(await client.hasBlob('a', digest, signal)).toBe(true)
    const request = { method: 'GET', credentials: 'me:a-password' }
    expect(tokenRequests).toEqual([{ ...request, scopes: ['repository:a:pull,push'] }])
    expect(await client.mountBlob('b', digest, 'a', signal)).toBe(true)
    expect(tokenRequests[1]).toEqual({ ...request, scopes: ['repository:b:pull,push', 'repository:a:pull'] })
  })

  test('requests a new token shortly before the reported lifetime of the previous one ends', async () => {
    reportedLifetimeS = 1
    const client = clientWith({ username: 'me', password: 'a-password' })
    const digest = await push(client, 'short')
    const before = tokenRequests.length
    expect(await client.hasBlob('short', digest, signal)).toBe(true)
    expect(tokenRequests.length).toBeGreaterThan(before)
  })

  test('exchanges an identity token for a token of the registry', async () => {
    const client = clientWith({ identityToken: 'an-identity-token' })
    expect(await client.hasBlob('c', await push(client, 'c'), signal)).toBe(true)
    const scopes = ['repository:c:pull,push']
    expect(tokenRequests[0]).toEqual({ method: 'POST', credentials: 'an-identity-token', scopes })
  })

  test('explains a refused password without showing it', async () => {
    const error = await push(clientWith({ username: 'me', password: 'wrong-secret' }), 'a').catch((e: unknown) => e)
    expect(String(error)).toMatch(
      /Could not sign in to the registry 127\.0\.0\.1:\d+ with its token server 127\.0\.0\.1:\d+: the server responded with status 401/,
    )
    expect(String(error) + JSON.stringify(error)).not.toContain('wrong-secret')
  })
})
