import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type Descriptor, MEDIA_TYPES, digestOf } from './blob.ts'
import type { FindCredentials } from './credentials.ts'
import type { RegistryAddress } from './registry-address.ts'
import { RegistryError } from './registry-error.ts'
import { RegistryHttp, isTemporary } from './registry-http.ts'
import { type BlobContent, uploadBlob } from './upload-blob.ts'

/** A manifest with its descriptor, whose digest is that of `content`. */
export type Manifest = { descriptor: Descriptor; content: Buffer }

/** A download whose connection breaks starts again from the beginning. */
const PULL_ATTEMPTS = 3
const MAX_MANIFEST_BYTES = 4 * 2 ** 20
const ACCEPTED = [MEDIA_TYPES.manifest, MEDIA_TYPES.index, MEDIA_TYPES.dockerManifest, MEDIA_TYPES.dockerIndex]

/**
 * A client of one registry (OCI distribution specification 1.1). Its methods repeat requests that fail temporarily.
 * @throws RegistryError from every method
 */
export class RegistryClient {
  readonly #host: string
  readonly #http: RegistryHttp

  constructor({ origin, host }: Pick<RegistryAddress, 'origin' | 'host'>, findCredentials: FindCredentials) {
    this.#host = host
    this.#http = new RegistryHttp(origin, host, () => findCredentials(host))
  }

  /** Verifies that the registry responds and accepts the credentials. */
  async check(signal: AbortSignal): Promise<void> {
    const purpose = `sign in to ${this.#host}`
    const request = { purpose, method: 'GET', url: '/v2/', mayRetry: false, signal } as const
    const response = await this.#http.send({ ...request, scopes: [] })
    await response.body.dump()
  }

  async hasBlob(repository: string, digest: string, signal: AbortSignal): Promise<boolean> {
    return await this.#exists(`/v2/${repository}/blobs/${digest}`, repository, signal)
  }

  async hasManifest(repository: string, digest: string, signal: AbortSignal): Promise<boolean> {
    return await this.#exists(`/v2/${repository}/manifests/${digest}`, repository, signal)
  }

  /** Uploads a blob that the repository lacks. */
  async pushBlob(repository: string, content: BlobContent, signal: AbortSignal): Promise<void> {
    await uploadBlob(this.#http, { repository, host: this.#host, signal }, content)
  }

  /** Mounts a blob of the repository `from` of this registry, without an upload. Returns false if the registry did not mount it. */
  async mountBlob(repository: string, digest: string, from: string, signal: AbortSignal): Promise<boolean> {
    const purpose = `reuse a layer of ${this.#host}/${from} in ${repository}`
    const scopes = [pushScope(repository), pullScope(from)]
    const response = await this.#http.send({
      purpose,
      method: 'POST',
      url: `/v2/${repository}/blobs/uploads/?${new URLSearchParams({ mount: digest, from }).toString()}`,
      scopes,
      headers: { 'content-length': '0' },
      accepts: [400, 403, 404, 405],
      signal,
    })
    await response.body.dump()
    const { location } = response.headers
    if (response.status === 202 && location !== undefined) {
      // The registry opened an upload instead. Cancel it, rather than let it expire.
      const url = new URL(location, response.url).href
      await this.#http
        .send({ purpose, method: 'DELETE', url, scopes, mayRetry: false, signal })
        .then(({ body }) => body.dump())
        .catch(() => undefined)
    }
    return response.status === 201
  }

  /** Downloads a blob to `file`. Removes the file if the content does not match the digest. */
  async pullBlob(repository: string, blob: Descriptor, file: string, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pullOnce(repository, blob, file, signal)
      } catch (error) {
        if (attempt === PULL_ATTEMPTS || !isTemporary(error)) throw error
      }
    }
  }

  async #pullOnce(repository: string, { digest, size }: Descriptor, file: string, signal: AbortSignal): Promise<void> {
    const purpose = `pull a layer of ${this.#host}/${repository}`
    const response = await this.#http.send({
      purpose,
      method: 'GET',
      url: `/v2/${repository}/blobs/${digest}`,
      scopes: [pullScope(repository)],
      signal,
    })
    const hash = createHash('sha256')
    let bytes = 0
    async function* verified(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        bytes += chunk.length
        if (bytes > size) throw new RegistryError(`Could not ${purpose}: it is larger than declared`, { status: 200 })
        hash.update(chunk)
        yield chunk
      }
      if (`sha256:${hash.digest('hex')}` !== digest)
        throw new RegistryError(`Could not ${purpose}: its content does not match ${digest}`, { status: 200 })
    }
    try {
      await pipeline(response.body, verified, createWriteStream(file, { mode: 0o600 }), { signal })
    } catch (cause) {
      await rm(file, { force: true })
      signal.throwIfAborted()
      if (cause instanceof RegistryError) throw cause
      throw new RegistryError(`Could not ${purpose}: the connection was interrupted`, { status: 0, cause })
    }
  }

  /** Reads a small blob, such as an image's config. */
  async readBlob(repository: string, { digest, size }: Descriptor, signal: AbortSignal): Promise<Buffer> {
    const content = await this.#read(`/v2/${repository}/blobs/${digest}`, repository, { maxBytes: size, signal })
    return verify(content.body, digest, `${this.#host}/${repository}`)
  }

  /** `reference`: a tag or digest. */
  async readManifest(repository: string, reference: string, signal: AbortSignal): Promise<Manifest> {
    const url = `/v2/${repository}/manifests/${reference}`
    const { body, type } = await this.#read(url, repository, { maxBytes: MAX_MANIFEST_BYTES, signal })
    const digest = digestOf(body)
    if (reference.startsWith('sha256:')) verify(body, reference, `${this.#host}/${repository}`)
    const { mediaType = type }: { mediaType?: string } = JSON.parse(body.toString())
    return { descriptor: { mediaType, digest, size: body.length }, content: body }
  }

  /** Stores an image's manifest, whose blobs the repository must have. Resolves with its digest. */
  async putManifest(repository: string, content: Buffer, signal: AbortSignal): Promise<string> {
    const digest = digestOf(content)
    const response = await this.#http.send({
      purpose: `push an image to ${this.#host}/${repository}`,
      method: 'PUT',
      url: `/v2/${repository}/manifests/${digest}`,
      scopes: [pushScope(repository)],
      headers: { 'content-type': MEDIA_TYPES.manifest, 'content-length': String(content.length) },
      body: () => content,
      signal,
    })
    await response.body.dump()
    return digest
  }

  /** Deletes a manifest; a missing one is ignored. Resolves with false if the registry does not permit deletions. */
  async deleteManifest(repository: string, digest: string, signal: AbortSignal): Promise<boolean> {
    const response = await this.#http.send({
      purpose: `delete an image of ${this.#host}/${repository}`,
      method: 'DELETE',
      url: `/v2/${repository}/manifests/${digest}`,
      scopes: [`repository:${repository}:pull,push,delete`],
      accepts: [401, 403, 404, 405],
      signal,
    })
    await response.body.dump()
    return response.status < 300 || response.status === 404
  }

  async #exists(url: string, repository: string, signal: AbortSignal): Promise<boolean> {
    const response = await this.#http.send({
      purpose: `find a layer or image in ${this.#host}/${repository}`,
      method: 'HEAD',
      url,
      scopes: [pushScope(repository)],
      headers: { accept: ACCEPTED.join(', ') },
      accepts: [404],
      signal,
    })
    await response.body.dump()
    return response.status === 200
  }

  async #read(
    url: string,
    repository: string,
    { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
  ): Promise<{ body: Buffer; type: string }> {
    const purpose = `read an image of ${this.#host}/${repository}`
    const response = await this.#http.send({
      purpose,
      method: 'GET',
      url,
      scopes: [pullScope(repository)],
      headers: { accept: ACCEPTED.join(', ') },
      signal,
    })
    const chunks: Buffer[] = []
    let bytes = 0
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new RegistryError(`Could not ${purpose}: it is too large`, { status: 200 })
      chunks.push(chunk)
    }
    return { body: Buffer.concat(chunks), type: response.headers['content-type'] ?? '' }
  }
}

function verify(content: Buffer, digest: string, name: string): Buffer {
  if (digestOf(content) === digest) return content
  throw new RegistryError(`The content of an image of ${name} does not match ${digest}`, { status: 200 })
}

const pullScope = (repository: string): string => `repository:${repository}:pull`
const pushScope = (repository: string): string => `repository:${repository}:pull,push`
