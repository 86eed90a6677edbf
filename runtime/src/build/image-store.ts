import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredImage } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { type ImageManifest, imageDir } from '../image.ts'
import { type Staging, moveIntoPlace } from './staging.ts'

/** Content of `image.json`: the manifest for the driver, and information about the build. */
export type ImageRecord = ImageManifest & {
  nodeVersion: string
  /** Name and version, such as `npm` or `pnpm 9.15.9`. */
  packageManager: string
  /** Digest of the source. */
  digest: string
  /** Images of a tenant with the same key have the same dependencies; null or missing: unknown. */
  dependencyKey?: string | null
  createdAt: string
  bytes: number
}

/** Finished images. They share dependency files with the cache through hard links. */
export type ImageStore = {
  /** Returns null when the image does not exist, or its toolchain is no longer installed. */
  find(image: string): Promise<ImageRecord | null>
  /** Atomically stores the tree `app` as an image. Keeps an existing image with the same name, unless `find` returns null for it. */
  store(image: string, app: string, record: ImageRecord): Promise<void>
  remove(image: string): Promise<void>
  list(): Promise<StoredImage[]>
}

export async function openImageStore(imagesDir: string, staging: Staging): Promise<ImageStore> {
  await mkdir(imagesDir, { recursive: true, mode: 0o711 })
  const pathOf = (image: string) => {
    if (!/^[0-9a-f]+$/.test(image)) {
      throw new Error(`${JSON.stringify(image)} is not an image`)
    }
    return imageDir(imagesDir, image)
  }
  const find = async (image: string): Promise<ImageRecord | null> => {
    try {
      const record: ImageRecord = JSON.parse(await readFile(join(pathOf(image), 'image.json'), 'utf8'))
      const { nodeBinDir, toolchainBinDir, managerBinDir } = record
      const binDirs = [nodeBinDir, toolchainBinDir, ...(managerBinDir ? [managerBinDir] : [])]
      return binDirs.every((dir) => existsSync(dir)) ? record : null
    } catch (error) {
      if (errorCode(error) === 'ENOENT') {
        return null
      }
      throw error
    }
  }
  return {
    find,
    async store(image, app, record) {
      const { path } = await staging.make()
      try {
        await rename(app, join(path, 'app'))
        await writeFile(join(path, 'image.json'), JSON.stringify(record, null, 2), { mode: 0o600 })
        if ((await find(image)) === null) {
          await staging.discard(pathOf(image))
        }
        await moveIntoPlace(path, pathOf(image))
      } finally {
        await staging.discard(path)
      }
    },
    async remove(image) {
      await staging.discard(pathOf(image))
    },
    async list() {
      const names = (await readdir(imagesDir)).filter((name) => /^[0-9a-f]+$/.test(name))
      const entries = await Promise.all(
        names.map(async (image) => {
          const record = await stat(join(pathOf(image), 'image.json')).catch(() => null)
          return record && { image, storedAtMs: record.mtimeMs }
        }),
      )
      return entries.filter((entry) => entry !== null)
    },
  }
}
