import { createReadStream } from 'node:fs'
import type { KeyedMutex } from '../../concurrency.ts'
import type { RegistryClient } from '../registry/registry-client.ts'
import type { LayerRecords } from './layer-records.ts'
import type { PackedLayer } from './pack-layer.ts'

/** What stores an image: a registry, or a folder. */
export type LayerStore = Pick<RegistryClient, 'hasBlob' | 'mountBlob' | 'pushBlob' | 'putManifest'>

/** Where and how the layers of one image are pushed. */
export type LayerTarget = {
  client: LayerStore
  repository: string
  /** The repository of layers that all tenants share. */
  sharedRepository: string
  records: LayerRecords
  mutex: KeyedMutex
  /** `pushLayer` adds the bytes of each upload. */
  uploaded: { bytes: number }
  signal: AbortSignal
}

/** A layer that may have to be packed. */
export type LayerSource = {
  /** A key that determines the content; null: the layer is always packed. */
  key: string | null
  /** True: the layer is also pushed to the shared repository, from which the registry mounts it into other repositories. */
  isShared: boolean
  /** Writes the layer to a file. */
  write: (file: string, signal: AbortSignal) => Promise<PackedLayer>
}

/**
 * Ensures that the repository has the layer. Does not pack the layer if `records` has one with the same key that the repository has or
 * can mount, and does not upload it if the repository has one with the same content.
 * @throws RegistryError, the error of `write`, or the reason of `signal`
 */
export async function pushLayer(target: LayerTarget, source: LayerSource): Promise<PackedLayer> {
  const { records, repository, mutex, signal } = target
  const { key } = source
  if (key === null) return await packAndPush(target, source)
  // Serialized per key, so that concurrent builds with the same dependencies pack them only once.
  const packOnce = async () => {
    const known = await records.find(key)
    if (known !== null && (await findOrMount(target, source, known))) return known
    const packed = await packAndPush(target, source)
    await records.save(key, packed)
    return packed
  }
  return await mutex.run(`${source.isShared ? '' : repository} ${key}`, packOnce, signal)
}

/** Returns whether the repository has the layer, after mounting it from the shared repository if it is there. */
async function findOrMount(
  target: LayerTarget,
  { isShared }: LayerSource,
  { descriptor }: PackedLayer,
): Promise<boolean> {
  const { client, repository, sharedRepository, signal } = target
  if (await client.hasBlob(repository, descriptor.digest, signal)) return true
  return isShared && (await client.mountBlob(repository, descriptor.digest, sharedRepository, signal))
}

async function packAndPush(target: LayerTarget, source: LayerSource): Promise<PackedLayer> {
  const { client, records, repository, sharedRepository, uploaded, signal } = target
  return await records.withFile(async (file) => {
    const packed = await source.write(file, signal)
    const { digest, size } = packed.descriptor
    const content = { digest, size, open: () => createReadStream(file) }
    const push = async (to: string) => {
      if (await client.hasBlob(to, digest, signal)) return
      await client.pushBlob(to, content, signal)
      uploaded.bytes += size
    }
    if (source.isShared) await push(sharedRepository)
    if (!(await findOrMount(target, source, packed))) await push(repository)
    return packed
  })
}
