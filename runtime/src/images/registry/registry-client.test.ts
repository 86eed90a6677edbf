import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Registry, hasRegistry, startRegistry } from '../../../../scripts/registry.ts'
import { MEDIA_TYPES, digestOf } from './blob.ts'
import type { Credentials } from './credentials.ts'
import { parseRegistry } from './registry-address.ts'
import { RegistryClient } from './registry-client.ts'
import { RegistryError } from './registry-error.ts'
import { type Fault, type ChooseFault, startRelay } from './registry-harness.ts'

const { signal } = new AbortController()

// Waits between attempts take seconds.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const blobOf = (content: Buffer) => ({
  digest: digestOf(content),
  size: content.length,
  open: () => Readable.from(chunksOf(content)),
})

function* chunksOf(content: Buffer): Generator<Buffer> {
  for (let start = 0; start < content.length; start += 65_536) yield content.subarray(start, start + 65_536)
}

const clientOf = (host: string, credentials: Credentials | null = null) =>
  new RegistryClient(parseRegistry(host), async () => credentials)

function manifestOf(config: Buffer): Buffer {
  const descriptor = { mediaType: MEDIA_TYPES.config, digest: digestOf(config), size: config.length }
  return Buffer.from(
    JSON.stringify({ schemaVersion: 2, mediaType: MEDIA_TYPES.manifest, config: descriptor, layers: [] }),
  )
}

async function pushImageTo(client: RegistryClient, repository: string): Promise<string> {
  const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', id: randomBytes(8).toString('hex') }))
  await client.pushBlob(repository, blobOf(config), signal)
  return await client.putManifest(repository, manifestOf(config), signal)
}

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'file')
}

describe.skipIf(!hasRegistry)('with a registry without authentication', () => {
  let registry: Registry
  beforeAll(async () => {
    registry = await startRegistry()
  })
  afterAll(() => registry?.stop())

  async function relayed(chooseFault: ChooseFault) {
    const relay = await startRelay(registry.host, chooseFault)
    onTestFinished(() => relay.stop())
    return { relay, client: clientOf(relay.host) }
  }

  test('pushes, finds, mounts and pulls a blob', async () => {
    const client = clientOf(registry.host)
    const content = randomBytes(3_000_000)
    const { digest, size } = blobOf(content)
    expect(await client.hasBlob('a/b', digest, signal)).toBe(false)
    await client.pushBlob('a/b', blobOf(content), signal)
    expect(await client.hasBlob('a/b', digest, signal)).toBe(true)
    expect(await client.hasBlob('other', digest, signal)).toBe(false)
    expect(await client.mountBlob('other', digest, 'a/b', signal)).toBe(true)
    expect(await client.hasBlob('other', digest, signal)).toBe(true)
    expect(await client.mountBlob('third', digestOf(Buffer.from('missing')), 'a/b', signal)).toBe(false)
    const file = temporaryFile()
    await client.pullBlob('other', { mediaType: '', digest, size }, file, signal)
    expect(readFileSync(file).equals(content)).toBe(true)
    await expect(client.pullBlob('other', { mediaType: '', digest, size: 10 }, file, signal)).rejects.toThrow('larger')
  })

  test('stores a manifest, returns it by its digest, and deletes it', async () => {
    const client = clientOf(registry.host)
    const digest = await pushImageTo(client, 'manifests')
    const { content, descriptor } = await client.readManifest('manifests', digest, signal)
    expect(`sha256:${createHash('sha256').update(content).digest('hex')}`).toBe(digest)
    expect(descriptor.mediaType).toBe(MEDIA_TYPES.manifest)
    expect(await client.deleteManifest('manifests', digest, signal)).toBe(true)
    expect(await client.hasManifest('manifests', digest, signal)).toBe(false)
    expect(await client.deleteManifest('manifests', digest, signal)).toBe(true)
  })

  test('refuses a blob whose content differs from its digest, and a manifest without its blobs', async () => {
    const client = clientOf(registry.host)
    const wrong = { ...blobOf(Buffer.from('content')), digest: digestOf(Buffer.from('another')) }
    await expect(client.pushBlob('wrong', wrong, signal)).rejects.toThrow(/DIGEST_INVALID/)
    const error = await client.putManifest('wrong', manifestOf(Buffer.from('missing')), signal).catch((e: unknown) => e)
    expect(error).toMatchObject({ status: 400, codes: ['MANIFEST_BLOB_UNKNOWN'] })
  })

  test('finishes an upload whose connection was cut, or that the registry no longer knows', async () => {
    const content = randomBytes(8_000_000)
    const actions: (Fault | null)[] = [{ cutAfter: 2_000_000 }, { status: 404 }, null]
    const { relay, client } = await relayed((method) => (method === 'PATCH' ? (actions.shift() ?? null) : null))
    await client.pushBlob('cut', blobOf(content), signal)
    expect(relay.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(3)
    const file = temporaryFile()
    await client.pullBlob('cut', { mediaType: '', digest: digestOf(content), size: content.length }, file, signal)
    expect(readFileSync(file).equals(content)).toBe(true)
  })

  test('repeats requests while the registry is overloaded', async () => {
    const failed = new Set<string>()
    const { client } = await relayed((method) => (failed.has(method) ? null : (failed.add(method), { status: 503 })))
    const digest = await pushImageTo(client, 'overloaded')
    expect(await client.hasManifest('overloaded', digest, signal)).toBe(true)
    expect([...failed].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(['HEAD', 'PATCH', 'POST', 'PUT'])
  })

  test('fails if the registry keeps failing, or if the signal is aborted', async () => {
    const { client, relay } = await relayed(() => ({ status: 500 }))
    const failed = client.hasBlob('a', digestOf(Buffer.from('')), signal)
    await expect(failed).rejects.toThrow(
      `Could not find a layer or image in ${relay.host}/a: the server responded with status 500`,
    )
    const cancelled = client.hasBlob('a', digestOf(Buffer.from('')), AbortSignal.abort(new Error('cancelled')))
    await expect(cancelled).rejects.toThrow('cancelled')
  })

  test('reports that there is no registry at the address', async () => {
    const stopped = await startRelay(registry.host)
    await stopped.stop()
    const error = await clientOf(stopped.host)
      .hasBlob('a', digestOf(Buffer.from('')), signal)
      .catch((e: unknown) => e)
    expect(error).toBeInstanceOf(RegistryError)
    expect(String(error)).toContain(`${stopped.host} does not respond (ECONNREFUSED)`)
  })
})

describe.skipIf(!hasRegistry)('with a registry that does not permit deletions', () => {
  test('reports that the image remains', async () => {
    const registry = await startRegistry({ allowsDeletion: false })
    onTestFinished(() => registry.stop())
    const client = clientOf(registry.host)
    const digest = await pushImageTo(client, 'kept')
    expect(await client.deleteManifest('kept', digest, signal)).toBe(false)
    expect(await client.hasManifest('kept', digest, signal)).toBe(true)
  })
})

describe.skipIf(!hasRegistry)('with a registry with passwords', () => {
  let registry: Registry
  beforeAll(async () => {
    // `a-password`, hashed with bcrypt.
    registry = await startRegistry({ htpasswd: 'me:$2y$05$abcdefghijklmnopqrstuubsRD.Ffj/ka0r3BpAjv57rF8oK.y5YW\n' })
  })
  afterAll(() => registry?.stop())

  test('pushes with the right password', async () => {
    const client = clientOf(registry.host, { username: 'me', password: 'a-password' })
    const digest = await pushImageTo(client, 'private')
    expect(await client.hasManifest('private', digest, signal)).toBe(true)
    expect(await client.deleteManifest('private', digest, signal)).toBe(true)
  })

  test.each([{ username: 'me', password: 'wrong-secret' }, null])(
    'explains wrong or missing credentials without showing them (%#)',
    async (credentials) => {
      const error = await pushImageTo(clientOf(registry.host, credentials), 'private').catch((e: unknown) => e)
      expect(String(error)).toMatch(/Could not push a layer to .*\/private: the server responded with status 401/)
      expect(JSON.stringify(error) + String(error)).not.toContain('wrong-secret')
    },
  )
})
