import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ImageRecord } from '../build/image-store.ts'
import { imageDir } from '../image.ts'
import { type ImageRegistry, type RegistrySettings, openImageRegistry } from './image-registry.ts'
import { type PushedImage, pushImage } from './push-image.ts'
import { PushedImages } from './pushed-images.ts'
import { parseRegistry, tenantRepository } from './registry/registry-address.ts'

/** Pushes the image that is stored as `local` on this host to the tenant's repository. */
export async function pushStoredImage(
  { registry, imagesDir }: { registry: ImageRegistry; imagesDir: string },
  local: string,
  { tenant, signal, onOmitted }: { tenant: string; signal: AbortSignal; onOmitted: (sentence: string) => void },
): Promise<PushedImage & { repository: string }> {
  const repository = tenantRepository(registry.address, tenant)
  const record: ImageRecord = JSON.parse(await readFile(join(imageDir(imagesDir, local), 'image.json'), 'utf8'))
  const image = {
    ...record,
    dependencyKey: record.dependencyKey ?? null,
    appDir: join(imageDir(imagesDir, local), 'app'),
  }
  return { ...(await pushImage({ ...registry.target, repository, signal, onOmitted }, image)), repository }
}

/** An image on this host. `pushed`: its name in the registry to which it was pushed; null if it was not. */
export type StoredImageName = { local: string; pushed: string | null }

/** The folders of a state directory, as `openHostBuilder` uses them. */
const foldersOf = (stateDir: string) => ({ imagesDir: join(stateDir, 'images'), dir: join(stateDir, 'oci') })

/** Returns the images in a state directory whose toolchain is installed. `registry`: the registry of their names. */
export async function storedImages(stateDir: string, registry: string | null): Promise<StoredImageName[]> {
  const { imagesDir, dir } = foldersOf(stateDir)
  if (!existsSync(imagesDir)) return []
  const host = registry === null ? null : parseRegistry(registry).host
  const pushed = await PushedImages.open(join(dir, 'images'))
  const names = (await readdir(imagesDir)).filter((name) => /^[0-9a-f]+$/.test(name))
  const usable = await Promise.all(names.map(async (local) => ((await isUsable(imagesDir, local)) ? [local] : [])))
  return usable.flat().map((local) => {
    const record = pushed.find(local)
    return { local, pushed: record && host !== null ? `${host}/${record.repository}@${record.digest}` : null }
  })
}

async function isUsable(imagesDir: string, local: string): Promise<boolean> {
  try {
    const record: ImageRecord = JSON.parse(await readFile(join(imageDir(imagesDir, local), 'image.json'), 'utf8'))
    const { nodeBinDir, toolchainBinDir, managerBinDir } = record
    return [nodeBinDir, toolchainBinDir, managerBinDir].every((dir) => !dir || existsSync(dir))
  } catch {
    return false
  }
}

type PushRequest = {
  stateDir: string
  registry: RegistrySettings
  images: { local: string; tenant: string }[]
  onPushed: () => void
  signal: AbortSignal
}

/**
 * Pushes images of a state directory to a registry, unless it has them, and returns their names there. Only one process may use the state
 * directory.
 * @throws RegistryError; Error if an image does not exist
 */
export async function pushStoredImages({
  stateDir,
  registry: settings,
  images,
  onPushed,
  signal,
}: PushRequest): Promise<Map<string, string>> {
  const { imagesDir, dir } = foldersOf(stateDir)
  const registry = await openImageRegistry(settings, dir)
  const { address, client } = registry
  const records = await PushedImages.open(join(dir, 'images'))
  const names = new Map<string, string>()
  // One after the other, since packing a layer uses a full CPU core.
  for (const { local, tenant } of images) {
    const known = records.find(local)
    const isPushed = known !== null && (await client.hasManifest(known.repository, known.digest, signal))
    const { repository, digest } = isPushed
      ? known
      : await pushStoredImage({ registry, imagesDir }, local, { tenant, signal, onOmitted: () => undefined })
    if (!isPushed) await records.save({ local, repository, digest, pushedAtMs: Date.now() })
    names.set(local, `${address.host}/${repository}@${digest}`)
    onPushed()
  }
  return names
}
