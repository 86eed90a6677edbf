import { createHash } from 'node:crypto'
import { hostEntries, hostFiles } from './layers/host-files.ts'
import { type PackedLayer, packLayer } from './layers/pack-layer.ts'
import type { LayerSource } from './layers/push-layer.ts'
import { type Descriptor, MEDIA_TYPES } from './registry/blob.ts'
import type { FindCredentials } from './registry/credentials.ts'
import { type ImageReference, parseImageReference } from './registry/registry-address.ts'
import { RegistryClient } from './registry/registry-client.ts'

/** The lowest layers of every image: a Linux system with glibc, its C++ library and a shell. */
export type BaseImage = {
  layers: LayerSource[]
  /** Variables of the base image, such as `LANG=C.UTF-8`. */
  env: string[]
}

/** Returns the base image. `node`: the program whose libraries it must contain. */
export type OpenBaseImage = (node: string, signal: AbortSignal) => Promise<BaseImage>

/**
 * Returns a function that opens the base image: the operator's (`name`), or, if `name` is null, one made of this host's files, which
 * needs no public registry.
 * @throws Error if the name is not valid
 */
export function baseImageOpener(name: string | null, findCredentials: FindCredentials): OpenBaseImage {
  if (name === null) return (node) => baseOfHost(node)
  const image = parseImageReference(name)
  const client = new RegistryClient(image, findCredentials)
  // Resolved once per process, so that all images that it pushes share one base even if the tag moves.
  let opened: BaseImage | null = null
  return async (_node, signal) => {
    if (opened) return opened
    // Concurrent builds each read it: the end of one build must not affect the others.
    const read = await baseOfRegistry(client, image, signal)
    return (opened ??= read)
  }
}

async function baseOfHost(node: string): Promise<BaseImage> {
  const files = await hostFiles(node)
  const state = files.map(({ path, source, size, mtimeMs }) => [path, source, size, mtimeMs])
  const key = `base ${createHash('sha256').update(JSON.stringify(state)).digest('hex')}`
  return {
    layers: [{ key, isShared: true, write: (file, signal) => packLayer(hostEntries(files), file, signal) }],
    env: ['LANG=C.UTF-8'],
  }
}

type ImageManifestJson = { config: Descriptor; layers: Descriptor[] }
type IndexJson = { manifests: (Descriptor & { platform?: { os?: string; architecture?: string } })[] }
type ConfigJson = { rootfs: { diff_ids: string[] }; config?: { Env?: string[] } }

/** The media types of layers. Docker's have another name, but the same format. */
const LAYER_TYPES: Record<string, string> = {
  [MEDIA_TYPES.layer]: MEDIA_TYPES.layer,
  'application/vnd.oci.image.layer.v1.tar': 'application/vnd.oci.image.layer.v1.tar',
  'application/vnd.oci.image.layer.v1.tar+zstd': 'application/vnd.oci.image.layer.v1.tar+zstd',
  'application/vnd.docker.image.rootfs.diff.tar.gzip': MEDIA_TYPES.layer,
}

async function baseOfRegistry(client: RegistryClient, image: ImageReference, signal: AbortSignal): Promise<BaseImage> {
  const { repository } = image
  const name = `${image.host}/${repository}`
  const manifest = await findManifest(client, image, signal)
  const config: ConfigJson = JSON.parse((await client.readBlob(repository, manifest.config, signal)).toString())
  const layers = manifest.layers.map((descriptor, index): PackedLayer => {
    const mediaType = LAYER_TYPES[descriptor.mediaType]
    const diffId = config.rootfs.diff_ids[index]
    if (mediaType === undefined || diffId === undefined)
      throw new Error(`The base image ${name} has a layer of an unsupported type (${descriptor.mediaType})`)
    return { descriptor: { mediaType, digest: descriptor.digest, size: descriptor.size }, diffId }
  })
  return {
    env: (config.config?.Env ?? []).filter((variable) => !variable.startsWith('PATH=')),
    layers: layers.map((layer) => ({
      key: `base ${layer.descriptor.digest} ${layer.diffId}`,
      isShared: true,
      write: async (file, signal) => {
        await client.pullBlob(repository, layer.descriptor, file, signal)
        return layer
      },
    })),
  }
}

/** Returns the manifest for this host's architecture. @throws Error if the image has none */
async function findManifest(
  client: RegistryClient,
  { host, repository, reference }: ImageReference,
  signal: AbortSignal,
): Promise<ImageManifestJson> {
  const { descriptor, content } = await client.readManifest(repository, reference, signal)
  if (![MEDIA_TYPES.index, MEDIA_TYPES.dockerIndex].includes(descriptor.mediaType))
    return JSON.parse(content.toString())
  const { manifests }: IndexJson = JSON.parse(content.toString())
  const found = manifests.find(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture())
  if (found === undefined)
    throw new Error(`The base image ${host}/${repository} has no variant for linux/${architecture()}`)
  return JSON.parse((await client.readManifest(repository, found.digest, signal)).content.toString())
}

/** Returns this host's architecture as image manifests name it. */
export const architecture = (): string => ({ x64: 'amd64' })[process.arch as string] ?? process.arch
