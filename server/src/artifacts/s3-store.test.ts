import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasS3Server, startS3Server, type S3Server } from '../../../scripts/s3-server.ts'
import { loadConfig } from '../config/config.ts'
import { ArtifactsUnavailable, type ArtifactStore } from './artifact-store.ts'
import { openArtifactStore } from './open-artifact-store.ts'

const absentHash = 'ab'.repeat(32)
const credentials = { SHOAL_S3_ACCESS_KEY: 'AKIAOFTHETEST', SHOAL_S3_SECRET_KEY: 'secret-of-the-test' }

async function* archive() {
  yield Buffer.from('archive')
}

/** Calls every operation, and returns their errors. */
async function failuresOf(store: ArtifactStore): Promise<unknown[]> {
  const operations = [
    store.check(),
    store.receive(archive()),
    text(store.read(absentHash)),
    store.list(),
    store.remove(absentHash),
    store.removeInterrupted(new Date()),
  ]
  return (await Promise.allSettled(operations)).map((result) =>
    result.status === 'rejected' ? result.reason : 'succeeded',
  )
}

async function withStore<T>(env: Record<string, string>, act: (store: ArtifactStore) => Promise<T>): Promise<T> {
  const store = await openArtifactStore(loadConfig(env), async () => 'sq_00000001')
  try {
    return await act(store)
  } finally {
    store.close()
  }
}

describe.skipIf(!hasS3Server())('settings that the S3 server rejects', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3Server()
  })
  afterAll(async () => server?.end())

  test.each([
    ['an unknown access key', { SHOAL_S3_ACCESS_KEY: 'AKIAUNKNOWN' }, 'XAdminUserNotFound', 'SHOAL_S3_'],
    ['a wrong secret key', { SHOAL_S3_SECRET_KEY: 'wrong-secret' }, 'SignatureDoesNotMatch', 'SHOAL_S3_SECRET_KEY'],
    ['a missing bucket', { SHOAL_S3_BUCKET: 'no-such-bucket' }, 'NoSuchBucket', 'SHOAL_S3_BUCKET'],
    ['a wrong region', { SHOAL_S3_REGION: 'eu-north-9' }, 'AuthorizationHeaderMalformed', 'SHOAL_S3_REGION'],
  ])('%s: each operation names the setting, and no key', async (_, wrong, code, setting) => {
    const env = { ...server.settings, ...wrong }
    const failures = await withStore(env, failuresOf)
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(ArtifactsUnavailable)
      expect(failure).toMatchObject({ isMisconfigured: true })
      expect((failure as Error).message).toContain(code)
      expect((failure as Error).message).toContain(setting)
      const printed = inspect(failure, { depth: 10, showHidden: true })
      expect(printed).not.toContain(env.SHOAL_S3_ACCESS_KEY)
      expect(printed).not.toContain(env.SHOAL_S3_SECRET_KEY)
    }
  })
})

describe('a server that fails', () => {
  /** Starts an HTTP server that responds as `handle` does, and calls every operation on it. */
  async function failuresAt(handle: RequestListener): Promise<unknown[]> {
    const server = createServer(handle)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const env = { ...credentials, SHOAL_S3_BUCKET: 'archives', SHOAL_S3_ENDPOINT: `http://127.0.0.1:${port}` }
    try {
      return await withStore(env, failuresOf)
    } finally {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    }
  }

  const expectUnavailable = (failures: unknown[], reason: RegExp) => {
    expect(failures).toHaveLength(6)
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(ArtifactsUnavailable)
      expect(failure).toMatchObject({ isMisconfigured: false })
      expect((failure as Error).message).toMatch(reason)
      expect(inspect(failure, { depth: 10, showHidden: true })).not.toMatch(/AKIAOFTHETEST|secret-of-the-test/)
    }
  }

  test('a closed port: each operation names the bucket, the host and the reason', async () => {
    const env = { ...credentials, SHOAL_S3_BUCKET: 'archives', SHOAL_S3_ENDPOINT: 'http://127.0.0.1:1' }
    expectUnavailable(
      await withStore(env, failuresOf),
      /^The S3 bucket archives at 127\.0\.0\.1:1 is unavailable \(ECONNREFUSED\)\.$/,
    )
  })

  test('each operation reports an error of the server, with and without a message', async () => {
    expectUnavailable(await failuresAt((_, response) => response.writeHead(503).end()), /HTTP 503\)\.$/)
    const html = '<html>AKIAOFTHETEST is not welcome</html>'
    expectUnavailable(
      await failuresAt((_, response) => response.writeHead(500, { 'content-type': 'text/html' }).end(html)),
      /HTTP 500\)\.$/,
    )
  })

  test('each operation reports a closed connection', async () => {
    expectUnavailable(await failuresAt((request) => request.socket.destroy()), /ECONNRESET|EPIPE|socket/i)
  })

  test('a download that ends too early fails', async () => {
    const failures = await failuresAt((_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('half', () => response.destroy())
    })
    expect(failures[2]).toBeInstanceOf(ArtifactsUnavailable)
  })
})

describe('settings', () => {
  const bucket = { SHOAL_S3_BUCKET: 'archives' }
  test.each([
    [
      'only an endpoint',
      { SHOAL_S3_ENDPOINT: 'http://s3.example.com' },
      'SHOAL_S3_BUCKET must be set, because SHOAL_S3_ENDPOINT is',
    ],
    ['only keys', credentials, 'SHOAL_S3_BUCKET must be set, because SHOAL_S3_ACCESS_KEY is'],
    ['one of the keys', { ...bucket, SHOAL_S3_SECRET_KEY: 'secret-of-the-test' }, 'must both be set, or neither'],
    ['an endpoint that is not a URL', { ...bucket, SHOAL_S3_ENDPOINT: 's3.example.com' }, 'SHOAL_S3_ENDPOINT'],
    [
      'a password in the endpoint',
      { ...bucket, SHOAL_S3_ENDPOINT: 'http://me:secret-of-the-test@s3.example.com' },
      'SHOAL_S3_ENDPOINT must be a URL without',
    ],
  ])('%s is rejected, without showing a secret', (_, env, message) => {
    const load = () => loadConfig(env)
    expect(load).toThrow(message)
    expect(load).not.toThrow(/secret-of-the-test/)
  })

  test('a bucket on AWS needs no endpoint and no keys', () => {
    expect(loadConfig({ ...bucket, SHOAL_S3_REGION: 'eu-central-1' }).s3).toEqual({
      bucket: 'archives',
      endpoint: undefined,
      region: 'eu-central-1',
      credentials: undefined,
    })
    expect(loadConfig({}).s3).toBeNull()
  })
})
