import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { KeyedMutex } from '../concurrency.ts'
import { type OpenBaseImage, architecture } from './base-image.ts'
import type { LayerRecords } from './layers/layer-records.ts'
import { type LayerEntry, type PackedLayer, packLayer } from './layers/pack-layer.ts'
import { type LayerSource, type LayerTarget, pushLayer } from './layers/push-layer.ts'
import { IMAGE_PATHS, type Tools, toolsEntries, toolsKey } from './layers/tools-layer.ts'
import { isFolder, treeLayer } from './layers/tree-layer.ts'
import { MEDIA_TYPES, digestOf } from './registry/blob.ts'
import type { RegistryClient } from './registry/registry-client.ts'
import { RegistryError } from './registry/registry-error.ts'

/** A built squid as the builder stored it, or only its tools. */
export type BuiltImage = Tools & {
  /** The app with its production dependencies; null: the image has only the tools. */
  appDir: string | null
  /** Identifies the dependencies; null: they are not shared with other builds. */
  dependencyKey: string | null
}

export type PushTarget = {
  client: RegistryClient
  repository: string
  sharedRepository: string
  openBase: OpenBaseImage
  records: LayerRecords
  mutex: KeyedMutex
  signal: AbortSignal
  /** Called with a sentence for each omitted file. */
  onOmitted: (sentence: string) => void
}

/** `digest`: the digest of the manifest. `uploadedBytes`: 0 if the registry already had the config and all layers. */
export type PushedImage = { digest: string; uploadedBytes: number }

/** Settings of package managers, which may contain passwords of package registries. Programs do not need them. */
const BUILD_ONLY = /^\.(npmrc|yarnrc|yarnrc\.yml|pnpmrc)$/

/** User and group of programs in pods. They own no file of the image. */
const USER = '1000:1000'

/**
 * Pushes a built squid as an OCI image: base, tools, dependencies, app. Layers that the registry has are not uploaded again. The same build
 * results in the same digest.
 * @throws RegistryError
 */
export async function pushImage(target: PushTarget, image: BuiltImage): Promise<PushedImage> {
  try {
    return await pushOnce(target, image)
  } catch (error) {
    // The registry's garbage collection may remove a layer between the check and the manifest.
    const isIncomplete = error instanceof RegistryError && error.codes.includes('MANIFEST_BLOB_UNKNOWN')
    if (!isIncomplete) throw error
    return await pushOnce(target, image)
  }
}

async function pushOnce(target: PushTarget, image: BuiltImage): Promise<PushedImage> {
  const base = await target.openBase(join(image.nodeBinDir, 'node'), target.signal)
  const sources = [...base.layers, await toolsLayer(image), ...(await appLayers(target, image))]
  return await pushLayers(target, sources, (layers) => configOf(layers, base.env))
}

/**
 * Pushes layers, the lowest first, as an OCI image. Does not upload what the registry already has.
 * @throws RegistryError
 */
export async function pushLayers(
  target: Omit<LayerTarget, 'uploaded'>,
  sources: LayerSource[],
  configOf: (layers: PackedLayer[]) => object,
): Promise<PushedImage> {
  const { client, repository, signal } = target
  const layerTarget: LayerTarget = { ...target, uploaded: { bytes: 0 } }
  const layers: PackedLayer[] = []
  // One after the other, since packing a layer uses a full CPU core.
  for (const source of sources) layers.push(await pushLayer(layerTarget, source))
  const config = Buffer.from(JSON.stringify(configOf(layers)))
  const configDescriptor = { mediaType: MEDIA_TYPES.config, digest: digestOf(config), size: config.length }
  if (!(await client.hasBlob(repository, configDescriptor.digest, signal))) {
    await client.pushBlob(repository, contentOf(config), signal)
    layerTarget.uploaded.bytes += config.length
  }
  const descriptors = layers.map(({ descriptor }) => descriptor)
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: configDescriptor,
      layers: descriptors,
    }),
  )
  const digest = await client.putManifest(repository, manifest, signal)
  return { digest, uploadedBytes: layerTarget.uploaded.bytes }
}

async function toolsLayer(image: BuiltImage): Promise<LayerSource> {
  return {
    key: `tools ${await toolsKey(image)}`,
    isShared: true,
    write: (file, signal) => packLayer(toolsEntries(image), file, signal),
  }
}

/**
 * Pushes the layer of production dependencies before the image is built, so that `pushImage` finds it in the registry. `modules`: their
 * folder, which must not change. Resolves with the uploaded bytes.
 * @throws RegistryError
 */
export async function pushDependencies(target: PushTarget, modules: string, dependencyKey: string): Promise<number> {
  const uploaded = { bytes: 0 }
  await pushLayer({ ...target, uploaded }, dependencyLayer(target, modules, dependencyKey))
  return uploaded.bytes
}

/** Returns the layers of the dependencies and of the app, which may contain links to each other. */
async function appLayers(target: PushTarget, { appDir, dependencyKey }: BuiltImage): Promise<LayerSource[]> {
  if (appDir === null) return []
  const { onOmitted } = target
  const modules = join(appDir, 'node_modules')
  const hasModules = await isFolder(modules)
  const isExcluded = (path: string) => (hasModules && path === 'node_modules') || BUILD_ONLY.test(path)
  const app = layer(null, () => treeLayer({ from: appDir, to: APP_FOLDER, isExcluded, onOmitted }))
  return hasModules ? [dependencyLayer(target, modules, dependencyKey), app] : [app]
}

const APP_FOLDER = IMAGE_PATHS.app.slice(1)

function dependencyLayer({ repository, onOmitted }: PushTarget, modules: string, key: string | null): LayerSource {
  const source = { from: modules, to: `${APP_FOLDER}/node_modules`, linksWithin: APP_FOLDER, onOmitted }
  return layer(key === null ? null : `dependencies ${repository} ${key}`, () => treeLayer(source))
}

const layer = (key: string | null, entries: () => AsyncIterable<LayerEntry>): LayerSource => ({
  key,
  isShared: false,
  write: (file, signal) => packLayer(entries(), file, signal),
})

function configOf(layers: PackedLayer[], baseEnv: string[]): object {
  return {
    architecture: architecture(),
    os: 'linux',
    config: {
      User: USER,
      Env: [...baseEnv, `PATH=${IMAGE_PATHS.bins.join(':')}`],
      Entrypoint: [IMAGE_PATHS.init],
      WorkingDir: IMAGE_PATHS.app,
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  }
}

const contentOf = (content: Buffer) => ({
  digest: digestOf(content),
  size: content.length,
  open: () => Readable.from([content]),
})
