import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from '../../error-code.ts'
import { PLAIN_ENV } from '../sandbox.ts'
import type { DiskMount, Disks } from './disks.ts'
import { createMountedDisks } from './mounted-disks.ts'
import { isMountFull } from './open-disk.ts'

const run = promisify(execFile)

// In this file, an image is a disk image.

/** Maximum number of empty images that are kept for the next containers, since creating an image takes longer than mounting it. */
const MAX_SPARES = 3

/** Creates disks as sparse ext4 images. `sparesDir`: contains empty images for the next containers. */
export function createImageDisks(sparesDir: string, containerBytes: number): Disks {
  let refill: Promise<void> | null = null
  const pendingImages = new Map<string, Promise<void>>()
  const spares = async () => (await readdir(sparesDir)).filter((name) => name.startsWith(`${containerBytes}-`))

  const addSpares = async () => {
    for (let count = (await spares()).length; count < MAX_SPARES; count++)
      await formatImage(join(sparesDir, `${containerBytes}-${randomUUID()}`), containerBytes)
  }

  const takeSpare = async (image: string): Promise<boolean> => {
    for (const name of await spares()) {
      try {
        await rename(join(sparesDir, name), image)
        return true
      } catch (error) {
        // Another container took this spare.
        if (errorCode(error) !== 'ENOENT') throw error
      }
    }
    return false
  }

  const provideImage = async ({ image, bytes }: Pick<DiskMount, 'image' | 'bytes'>) => {
    if (existsSync(image)) return
    mkdirSync(sparesDir, { recursive: true, mode: 0o700 })
    if (bytes !== containerBytes) return await formatImage(image, bytes)
    if (!(await takeSpare(image))) await formatImage(image, bytes)
    // A failure, for example because the disk of the host is full, is ignored: the next container that finds no spare reports it.
    refill ??= addSpares()
      .catch(() => undefined)
      .finally(() => (refill = null))
  }

  /** Concurrent builds can use the same disk: the second must not replace the image that the first has mounted. */
  const provideImageOnce = async (disk: Pick<DiskMount, 'image' | 'bytes'>) => {
    const pending = pendingImages.get(disk.image) ?? provideImage(disk).finally(() => pendingImages.delete(disk.image))
    pendingImages.set(disk.image, pending)
    await pending
  }

  return createMountedDisks({
    kind: 'image',
    containerBytes,
    ensure: provideImageOnce,
    isFull: async (_image, dir) => isMountFull(dir),
    close: async () => await (refill ?? undefined),
  })
}

/** Deletes images that a killed server did not complete, and spares of another size. */
export async function removeUnusableSpares(sparesDir: string, containerBytes: number): Promise<void> {
  const names = existsSync(sparesDir) ? await readdir(sparesDir) : []
  const isUsable = (name: string) => name.startsWith(`${containerBytes}-`)
  await Promise.all(names.filter((name) => !isUsable(name)).map((name) => rm(join(sparesDir, name), { force: true })))
}

/** Creates an image that takes up space only as files are written. It gets its name when it is complete. */
async function formatImage(image: string, bytes: number): Promise<void> {
  const temporary = join(image, '..', `new-${randomUUID()}`)
  try {
    const file = await open(temporary, 'wx', 0o600)
    await file.truncate(bytes).finally(() => file.close())
    // Without reserved blocks, which only root could use, and without writing zeros to tables that are not used yet.
    const extended = 'lazy_itable_init=1,lazy_journal_init=1,nodiscard'
    await run('mkfs.ext4', ['-q', '-F', '-b', '4096', '-m', '0', '-E', extended, temporary], {
      env: PLAIN_ENV,
      timeout: 30_000,
    })
    await rename(temporary, image)
  } finally {
    await rm(temporary, { force: true })
  }
}
