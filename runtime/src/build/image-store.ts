import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredImage } from '../builder.ts'
import { errorCode } from '../error-code.ts'
import { type ImageManifest, imageDir } from '../image.ts'
import type { Staging } from './staging.ts'

/** What the builder notes in `image.json` beside what those who run the image read. */
export type ImageRecord = ImageManifest & {
  nodeVersion: string
  /** Such as `npm` or `pnpm 9.15.9`. */
  packageManager: string
  /** Of the source it was built from. */
  digest: string
  createdAt: string
  bytes: number
}

/** Finished images. They share their dependencies' files with the cache; whichever goes last frees the disk. */
export type ImageStore = {
  /** Null when there is none, or what it runs with is no longer installed. */
  find(image: string): Promise<ImageRecord | null>
  /** Makes the tree `app` an image in one step. The first of a name stays. */
  keep(image: string, app: string, record: ImageRecord): Promise<void>
  remove(image: string): Promise<void>
  list(): Promise<StoredImage[]>
}

export async function openImageStore(imagesDir: string, staging: Staging): Promise<ImageStore> {
  await mkdir(imagesDir, { recursive: true, mode: 0o711 })
  const place = (image: string) => {
    if (!/^[0-9a-f]+$/.test(image)) {
      throw new Error(`${JSON.stringify(image)} is no image`)
    }
    return imageDir(imagesDir, image)
  }
  const find = async (image: string): Promise<ImageRecord | null> => {
    try {
      const record: ImageRecord = JSON.parse(await readFile(join(place(image), 'image.json'), 'utf8'))
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
    async keep(image, app, record) {
      const { path } = await staging.make()
      try {
        await rename(app, join(path, 'app'))
        await writeFile(join(path, 'image.json'), JSON.stringify(record, null, 2))
        if ((await find(image)) === null) {
          await staging.discard(place(image))
        }
        await rename(path, place(image))
      } catch (error) {
        const isThereAlready = errorCode(error) === 'ENOTEMPTY' || errorCode(error) === 'EEXIST'
        if (!isThereAlready) {
          throw error
        }
      } finally {
        await staging.discard(path)
      }
    },
    async remove(image) {
      await staging.discard(place(image))
    },
    async list() {
      const names = (await readdir(imagesDir)).filter((name) => /^[0-9a-f]+$/.test(name))
      const found = await Promise.all(
        names.map(async (image) => {
          const record = await stat(join(place(image), 'image.json')).catch(() => null)
          return record && { image, storedAtMs: record.mtimeMs }
        }),
      )
      return found.filter((one) => one !== null)
    },
  }
}
