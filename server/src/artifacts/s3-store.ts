import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { hours } from '../clock.ts'
import type { S3Settings } from '../config/s3-settings.ts'
import { ArtifactMissing, type ArtifactStore, type ReceivedArtifact } from './artifact-store.ts'
import { joinSmallChunks, lazyStream, hashWhileRead } from './streams.ts'
import { isMissingObject, s3Unavailable } from './s3-errors.ts'

/** The size of a part of an upload, which is the minimum of S3. An upload buffers at most two parts in memory. */
const partBytes = 5 * 1024 * 1024
const maxBufferedParts = 2
/** The client keeps the chunks of a part until the part is complete. */
const minChunkBytes = 4 * 1024

/** Older uploads count as interrupted: S3 records when an upload began, but not when a client last wrote to it. */
const maxUploadMs = hours(24)

const connectTimeoutMs = 5_000
const responseTimeoutMs = 30_000

/** Stores artifacts as objects of a bucket, under `<installation>/archives/`, and uploads in progress under `<installation>/incoming/`. */
export function createS3Store(settings: S3Settings, installation: string): ArtifactStore {
  return new S3Store(settings, installation)
}

class S3Store implements ArtifactStore {
  #client: S3Client
  #bucket: string
  #location: string
  #archives: string
  #incoming: string

  constructor({ bucket, endpoint, region, credentials }: S3Settings, installation: string) {
    this.#bucket = bucket
    this.#location = `The S3 bucket ${bucket}${endpoint ? ` at ${new URL(endpoint).host}` : ''}`
    this.#archives = `${installation}/archives/`
    this.#incoming = `${installation}/incoming/`
    this.#client = new S3Client({
      region,
      // Servers other than AWS rarely have a host name for each bucket.
      ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
      ...(credentials ? { credentials } : {}),
      // Many servers do not support the checksums that the client adds by default.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: connectTimeoutMs,
        requestTimeout: responseTimeoutMs,
        socketTimeout: responseTimeoutMs,
        throwOnRequestTimeout: true,
      },
    })
  }

  async receive(source: AsyncIterable<Buffer>): Promise<ReceivedArtifact> {
    const key = this.#incoming + randomUUID()
    let contentFailure: { error: unknown } | null = null
    const { content, result } = hashWhileRead(
      reportErrors(source, (error) => {
        contentFailure = { error }
      }),
    )
    const body = Readable.from(joinSmallChunks(content, minChunkBytes), { objectMode: false })
    const upload = new Upload({
      client: this.#client,
      params: { Bucket: this.#bucket, Key: key, Body: body },
      partSize: partBytes,
      queueSize: maxBufferedParts,
      leavePartsOnError: false,
    })
    const discard = () => this.#delete(key).catch(() => undefined)
    try {
      await this.#call(() => upload.done())
    } catch (error) {
      // A lost response may hide that the upload succeeded.
      await discard()
      throw (contentFailure as { error: unknown } | null)?.error ?? error
    }
    const { sha256, bytes } = result()
    const keep = async () => {
      const copy = { Bucket: this.#bucket, CopySource: `${this.#bucket}/${key}`, Key: this.#archives + sha256 }
      await this.#call(() => this.#client.send(new CopyObjectCommand(copy)))
    }
    return { sha256, bytes, keep, discard }
  }

  read(sha256: string): Readable {
    return lazyStream(
      async () => {
        const request = new GetObjectCommand({ Bucket: this.#bucket, Key: this.#archives + sha256 })
        const { Body } = await this.#client.send(request)
        return Body as Readable
      },
      (error) =>
        isMissingObject(error)
          ? new ArtifactMissing(`There is no artifact ${sha256}.`)
          : s3Unavailable(error, this.#location),
    )
  }

  async remove(sha256: string): Promise<void> {
    await this.#delete(this.#archives + sha256)
  }

  async list(): Promise<string[]> {
    return (await this.#listObjects(this.#archives)).map(({ key }) => key.slice(this.#archives.length))
  }

  async removeInterrupted(now: Date): Promise<void> {
    const isInterrupted = (at: Date | undefined) => at !== undefined && at.getTime() < now.getTime() - maxUploadMs
    for (const { key, at } of await this.#listObjects(this.#incoming)) if (isInterrupted(at)) await this.#delete(key)
    for (const { Key, UploadId, Initiated } of await this.#listUploads())
      if (isInterrupted(Initiated))
        await this.#call(() =>
          this.#client.send(new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId })),
        )
  }

  async check(): Promise<void> {
    const request = { Bucket: this.#bucket, Prefix: this.#archives, MaxKeys: 1 }
    await this.#call(() => this.#client.send(new ListObjectsV2Command(request)))
  }

  close(): void {
    this.#client.destroy()
  }

  async #listObjects(prefix: string): Promise<{ key: string; at: Date | undefined }[]> {
    const objects: { key: string; at: Date | undefined }[] = []
    const pages = paginateListObjectsV2({ client: this.#client }, { Bucket: this.#bucket, Prefix: prefix })
    await this.#call(async () => {
      for await (const { Contents = [] } of pages)
        for (const { Key, LastModified } of Contents) if (Key) objects.push({ key: Key, at: LastModified })
    })
    return objects
  }

  /** Returns at most 1,000 unfinished uploads; the next round finds the others. */
  async #listUploads() {
    const request = { Bucket: this.#bucket, Prefix: this.#incoming }
    const { Uploads = [] } = await this.#call(() => this.#client.send(new ListMultipartUploadsCommand(request)))
    return Uploads
  }

  async #delete(key: string): Promise<void> {
    await this.#call(() => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })))
  }

  async #call<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send()
    } catch (error) {
      throw s3Unavailable(error, this.#location)
    }
  }
}

/** Yields the chunks of `source`. Also passes an error of `source` to `onError`. */
async function* reportErrors(source: AsyncIterable<Buffer>, onError: (error: unknown) => void): AsyncGenerator<Buffer> {
  try {
    yield* source
  } catch (error) {
    onError(error)
    throw error
  }
}
