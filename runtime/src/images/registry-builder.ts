import { join } from 'node:path'
import { BuildFailure, type BuildRequest, type Builder, type Image, type StoredImage } from '../builder.ts'
import { Semaphore } from '../concurrency.ts'
import type { ImageRegistry } from './image-registry.ts'
import { PushedImages, type PushedRecord } from './pushed-images.ts'
import { RegistryError } from './registry/registry-error.ts'
import { pushStoredImage } from './stored-images.ts'

export type RegistryBuilderOptions = {
  registry: ImageRegistry
  /** What `Image.image` contains: the name in the registry, or the name of the stored image, for a runtime on this host. */
  names: 'stored' | 'in registry'
  /** Builds and stores images on this host. */
  builder: Builder
  /** The folder of the builder's images. */
  imagesDir: string
  /** Folder for records of pushed images. Only one process may use it. */
  dir: string
  /** Maximum number of concurrent pushes. Packing a layer uses a full CPU core. */
  concurrency: number
  log: (message: string) => void
}

/**
 * Creates a builder that pushes its images to a registry, where they are named `host/path/o<tenant>@sha256:…`. The stored images and
 * caches of this host are kept, so that a later build with the same dependencies uploads only its app.
 */
export async function createRegistryBuilder(options: RegistryBuilderOptions): Promise<Builder> {
  const { registry, builder, dir, names } = options
  const { address, client } = registry
  const pushed = await PushedImages.open(join(dir, 'images'))
  const semaphore = new Semaphore(options.concurrency)
  const nameOf = ({ local, repository, digest }: PushedRecord) =>
    names === 'stored' ? local : `${address.host}/${repository}@${digest}`

  async function buildAndPush(request: BuildRequest): Promise<Image> {
    const built = await builder.build(request)
    const known = pushed.find(built.image)
    if (known !== null && (await client.hasManifest(known.repository, known.digest, request.signal)))
      return { ...built, image: nameOf(known) }
    const startedAt = performance.now()
    const { repository, digest, uploadedBytes } = await semaphore.run(
      () =>
        pushStoredImage(options, built.image, {
          tenant: request.tenant,
          signal: request.signal,
          onOmitted: (sentence) => request.log('warn', sentence),
        }),
      request.signal,
    )
    const record = { local: built.image, repository, digest, pushedAtMs: Date.now() }
    await pushed.save(record)
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    request.log('info', `Image pushed: ${(uploadedBytes / 1e6).toFixed(1)} MB uploaded in ${seconds} s`)
    return { ...built, image: nameOf(record) }
  }

  async function remove(name: string): Promise<void> {
    const all = pushed.list()
    const removed = all.filter((record) => nameOf(record) === name)
    // Builds with the same result have the same manifest.
    const isUsed = ({ repository, digest }: InRegistry) =>
      all.some((other) => !removed.includes(other) && other.repository === repository && other.digest === digest)
    const inRegistry = removed[0] ?? imageIn(address.host, name)
    if (inRegistry !== null && !isUsed(inRegistry)) await deleteFromRegistry(options, inRegistry)
    for (const { local } of removed) {
      await builder.removeImage(local)
      await pushed.delete(local)
    }
    if (inRegistry === null && !name.includes('@')) await builder.removeImage(name)
  }

  return {
    unpack: (request) => builder.unpack(request),
    build: (request) => withExplainedErrors(buildAndPush(request)),
    async listImages() {
      const records = pushed.list()
      const inRegistry = records.map((record): StoredImage => ({
        image: nameOf(record),
        storedAtMs: record.pushedAtMs,
      }))
      const known = new Set(records.map(({ local }) => local))
      // A push may have failed after the build.
      const notPushed = (await builder.listImages()).filter(({ image }) => !known.has(image))
      return [...inRegistry, ...notPushed]
    },
    removeImage: remove,
    removeTree: (key) => builder.removeTree(key),
    recover: () => builder.recover(),
  }
}

async function deleteFromRegistry(
  { registry: { address, client }, log }: RegistryBuilderOptions,
  { repository, digest }: InRegistry,
): Promise<void> {
  if (await client.deleteManifest(repository, digest, new AbortController().signal)) return
  const image = `${address.host}/${repository}@${digest}`
  log(`The registry ${address.host} does not permit Shoal to delete images: ${image} remains there`)
}

async function withExplainedErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof RegistryError) throw new BuildFailure('UNEXPECTED', error.message)
    throw error
  }
}

type InRegistry = Pick<PushedRecord, 'repository' | 'digest'>

/** Parses the name of an image in the registry `host`. Returns null for names of stored images and of images in other registries. */
function imageIn(host: string, name: string): InRegistry | null {
  const [path = '', digest] = name.split('@')
  return digest !== undefined && path.startsWith(`${host}/`)
    ? { repository: path.slice(host.length + 1), digest }
    : null
}
