import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { hasS3Server, startS3Server, type S3Server } from '../../../scripts/s3-server.ts'
import { hours } from '../clock.ts'
import { loadConfig } from '../config/config.ts'
import { ArtifactMissing, type ArtifactStore } from './artifact-store.ts'
import { openArtifactStore } from './open-artifact-store.ts'

const installation = 'sq_00000001'
const mebibyte = 1024 * 1024
const sha256Of = (content: Buffer) => createHash('sha256').update(content).digest('hex')
const absentHash = 'ab'.repeat(32)

async function* streamOf(content: Buffer, chunkBytes = 64 * 1024): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += chunkBytes) yield content.subarray(at, at + chunkBytes)
}

/** Simulates a client that disconnects after it has sent a part of the archive. */
async function* interrupted(content: Buffer): AsyncGenerator<Buffer> {
  yield* streamOf(content)
  throw new Error('the client disconnected')
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Returns the bytes of all buffers that are still referenced. Runs the garbage collector first. */
function heldBytes(): number {
  // The second call waits until the buffers that the first one found have been freed.
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

const stores = [
  { kind: 'files', isSkipped: false, startServer: async (): Promise<S3Server | null> => null },
  { kind: 'S3', isSkipped: !hasS3Server(), startServer: startS3Server },
]

describe.each(stores)('a store of $kind', ({ kind, isSkipped, startServer }) => {
  describe.skipIf(isSkipped)('of one installation', () => {
    let server: S3Server | null = null
    let dataDir: string
    let store: ArtifactStore
    /** The same store, opened as by another process. */
    let other: ArtifactStore
    const open = (id = installation) =>
      openArtifactStore(loadConfig({ SHOAL_DATA_DIR: dataDir, ...server?.settings }), async () => id)

    beforeAll(async () => {
      server = await startServer()
    })
    afterAll(async () => server?.end())
    beforeEach(async () => {
      dataDir = mkdtempSync(join(inject('testsDir'), 'artifacts-'))
      store = await open()
      other = await open()
    })
    afterEach(async () => {
      for (const sha256 of await store.list()) await store.remove(sha256)
      store.close()
      other.close()
      rmSync(dataDir, { recursive: true, force: true })
    })

    const keep = async (content: Buffer, into = store) => {
      const artifact = await into.receive(streamOf(content))
      await artifact.keep()
      await artifact.discard()
      return artifact
    }
    const readFrom = (from: ArtifactStore, sha256: string) => buffer(from.read(sha256))

    test.each([1, 64 * 1024, 5 * mebibyte, 23 * mebibyte + 7])(
      '%i bytes are read as they were received',
      async (size) => {
        const content = randomBytes(size)
        expect(await keep(content)).toMatchObject({ sha256: sha256Of(content), bytes: size })
        expect((await readFrom(other, sha256Of(content))).equals(content)).toBe(true)
      },
    )

    test('an artifact exists only after keep, and stays after discard', async () => {
      const content = randomBytes(100)
      const artifact = await store.receive(streamOf(content))
      expect(await other.list()).toEqual([])
      await expect(readFrom(other, artifact.sha256)).rejects.toBeInstanceOf(ArtifactMissing)
      await artifact.keep()
      await artifact.keep()
      await artifact.discard()
      await artifact.discard()
      expect(await other.list()).toEqual([artifact.sha256])
      expect((await readFrom(other, artifact.sha256)).equals(content)).toBe(true)
    })

    test('content that two processes receive concurrently is one artifact', async () => {
      const content = randomBytes(6 * mebibyte)
      await Promise.all([keep(content), keep(content, other), keep(content, other)])
      expect(await store.list()).toEqual([sha256Of(content)])
      expect((await readFrom(store, sha256Of(content))).equals(content)).toBe(true)
    })

    test('an artifact that was removed does not exist, and removing it again succeeds', async () => {
      const { sha256 } = await keep(randomBytes(10))
      await other.remove(sha256)
      await store.remove(sha256)
      await store.remove(absentHash)
      await expect(readFrom(store, sha256)).rejects.toBeInstanceOf(ArtifactMissing)
      expect(await store.list()).toEqual([])
    })

    test.each([1, 3 * mebibyte, 12 * mebibyte])(
      'content that fails after %i bytes leaves nothing behind, and the caller receives its error',
      async (size) => {
        await expect(store.receive(interrupted(randomBytes(size)))).rejects.toThrow('the client disconnected')
        expect(await temporaryData()).toEqual([])
      },
    )

    test('temporary data is removed a day after its process was killed, but not while the process runs', async () => {
      const running = await store.receive(streamOf(randomBytes(100)))
      // A killed process does not call discard.
      await store.receive(streamOf(randomBytes(6 * mebibyte)))
      if (server) await beginUpload(server)
      const kept = await keep(randomBytes(10))
      await other.removeInterrupted(new Date())
      await running.keep()
      await other.removeInterrupted(new Date(Date.now() + hours(25)))
      expect(await temporaryData()).toEqual([])
      expect((await other.list()).sort()).toEqual([running.sha256, kept.sha256].sort())
    })

    test('reading and storing do not need memory for the whole content', async () => {
      const count = 200
      const before = heldBytes()
      let highest = 0
      const sample = () => (highest = Math.max(highest, heldBytes() - before))
      async function* large() {
        for (let i = 0; i < count; i++) {
          if (i % 50 === 49) sample()
          yield Buffer.alloc(mebibyte, i)
        }
      }
      const artifact = await store.receive(large())
      await artifact.keep()
      await artifact.discard()
      let bytes = 0
      let nextSample = 50 * mebibyte
      for await (const part of store.read(artifact.sha256) as AsyncIterable<Buffer>) {
        bytes += part.length
        if (bytes < nextSample) continue
        sample()
        nextSample += 50 * mebibyte
      }
      expect(bytes).toBe(count * mebibyte)
      expect(highest).toBeLessThan(40 * mebibyte)
    })

    test.runIf(kind === 'S3')('installations that share a bucket do not see each other’s artifacts', async () => {
      const { sha256 } = await keep(randomBytes(50))
      const foreign = await open('sq_00000002')
      try {
        expect(await foreign.list()).toEqual([])
        await expect(readFrom(foreign, sha256)).rejects.toBeInstanceOf(ArtifactMissing)
        await foreign.remove(sha256)
        expect(await store.list()).toEqual([sha256])
      } finally {
        foreign.close()
      }
    })

    /** Returns everything in the store except its artifacts. */
    async function temporaryData(): Promise<string[]> {
      if (!server) return readdirSync(join(dataDir, 'uploads')).filter((name) => name.endsWith('.part'))
      return await incomingOf(server)
    }
  })
})

/** Returns the unfinished uploads and the temporary objects of the bucket, listed with a separate client. */
async function incomingOf({ settings }: S3Server): Promise<string[]> {
  const client = clientOf(settings)
  try {
    const where = { Bucket: settings.SHOAL_S3_BUCKET }
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand(where))
    const { Contents = [] } = await client.send(new ListObjectsV2Command(where))
    const keys = [...Uploads, ...Contents].map(({ Key }) => Key ?? '')
    return keys.filter((key) => !key.includes('/archives/'))
  } finally {
    client.destroy()
  }
}

/** Begins a multipart upload and does not complete it, like a process that is killed. */
async function beginUpload({ settings }: S3Server): Promise<void> {
  const client = clientOf(settings)
  const where = { Bucket: settings.SHOAL_S3_BUCKET, Key: `${installation}/incoming/unfinished` }
  await client.send(new CreateMultipartUploadCommand(where)).finally(() => client.destroy())
}

const clientOf = (settings: S3Server['settings']) =>
  new S3Client({
    endpoint: settings.SHOAL_S3_ENDPOINT,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: settings.SHOAL_S3_ACCESS_KEY, secretAccessKey: settings.SHOAL_S3_SECRET_KEY },
  })
