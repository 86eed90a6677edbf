import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from '../../error-code.ts'
import { NEW_MOUNT_NAMESPACE, PLAIN_ENV } from '../sandbox.ts'
import type { DiskMount, Disks } from './disks.ts'
import { holdNamespace, joinNamespace, openDisk } from './open-disk.ts'

const run = promisify(execFile)

/** Empty images that are kept for the next containers, since creating one takes longer than mounting it. */
const MAX_SPARES = 3

const MOUNT_OPTIONS = 'loop,nosuid,nodev,noatime,discard,noinit_itable'

/**
 * A shell script that mounts `$image` on `$dir`. Concurrent mounts wait for each other, so that they share a loop device instead of
 * corrupting the file system. A mount may fail while a namespace with the same image is being removed, so it is tried again once.
 */
const ATTACH = `attach() { flock "$image" mount -t ext4 -o ${MOUNT_OPTIONS} "$image" "$dir" </dev/null; }
attach 2>/dev/null || { sleep 0.2; attach; } || exit 125`

/**
 * A shell script that mounts the image, then executes the remaining arguments. The loop device and the mount end with the mount
 * namespace, so nothing remains if this host or the server is killed. `discard` returns the space of deleted files to the host.
 */
const MOUNT = `image=$1 dir=$2 folders=$3 from=$4 to=$5; shift 5
cd -- "$dir" || exit 125
${ATTACH}
missing=; for folder in $folders; do [ -e "$dir/$folder" ] || missing="$missing $folder"; done
[ -z "$missing" ] || cp -a --parents $missing "$dir/" || exit 125
[ -z "$from" ] || chown -R -h -P --from="$from" "$to" "$dir" || exit 125
cd / && exec "$@"`

/** Creates disks as sparse ext4 images. `sparesDir`: contains empty images for the next containers. */
export function createImageDisks(sparesDir: string, containerBytes: number): Disks {
  let refill: Promise<void> | null = null
  const images = new Map<string, Promise<void>>()
  const spares = async () => (await readdir(sparesDir)).filter((name) => name.startsWith(`${containerBytes}-`))

  const addSpares = async () => {
    for (let count = (await spares()).length; count < MAX_SPARES; count++)
      await createImage(join(sparesDir, `${containerBytes}-${randomUUID()}`), containerBytes)
  }

  const takeSpare = async (image: string): Promise<boolean> => {
    for (const name of await spares()) {
      try {
        await rename(join(sparesDir, name), image)
        return true
      } catch (error) {
        // Another container took it.
        if (errorCode(error) !== 'ENOENT') throw error
      }
    }
    return false
  }

  const addImage = async ({ image, bytes }: Pick<DiskMount, 'image' | 'bytes'>) => {
    if (existsSync(image)) return
    mkdirSync(sparesDir, { recursive: true, mode: 0o700 })
    if (bytes !== containerBytes) return await createImage(image, bytes)
    if (!(await takeSpare(image))) await createImage(image, bytes)
    // A failure, for example because the disk of the host is full, is reported by the next container that finds no spare.
    refill ??= addSpares()
      .catch(() => undefined)
      .finally(() => (refill = null))
  }

  /** Concurrent builds share an image: the second must not replace the one that the first mounts. */
  const ensureImage = async (disk: Pick<DiskMount, 'image' | 'bytes'>) => {
    const added = images.get(disk.image) ?? addImage(disk).finally(() => images.delete(disk.image))
    images.set(disk.image, added)
    await added
  }

  const mount = async (disk: DiskMount) => {
    // A container that was deployed while its disk space was limited keeps its disk.
    if (disk.bytes === 0 && !existsSync(disk.image)) return []
    await ensureImage(disk)
    const { image, dir, folders, newOwner } = disk
    const owners = [newOwner?.from, newOwner?.to].map((uid) => String(uid ?? ''))
    return [...NEW_MOUNT_NAMESPACE, '/bin/sh', '-c', MOUNT, 'shoal-disk', image, dir, folders.join(' '), ...owners]
  }

  return {
    kind: 'image',
    containerBytes,
    mount,
    async open(disk) {
      const holder = await holdNamespace(await mount({ ...disk, folders: [], newOwner: null }))
      return openDisk(holder, disk.dir, async ({ dir, image, bytes }) => {
        await ensureImage({ image, bytes })
        const script = `image=$1 dir=$2\n${ATTACH}`
        const [program, ...args] = [...joinNamespace(holder), '/bin/sh', '-c', script, 'shoal-disk', image, dir]
        await run(program, args, { env: PLAIN_ENV, timeout: 30_000 })
      })
    },
    close: async () => await (refill ?? undefined),
  }
}

/** Deletes images that a killed server did not complete, and spares of another size. */
export async function removeUnusableSpares(sparesDir: string, containerBytes: number): Promise<void> {
  const names = existsSync(sparesDir) ? await readdir(sparesDir) : []
  const isUsable = (name: string) => name.startsWith(`${containerBytes}-`)
  await Promise.all(names.filter((name) => !isUsable(name)).map((name) => rm(join(sparesDir, name), { force: true })))
}

/** Creates an image that takes space only as files are written. The name appears when the image is complete. */
async function createImage(image: string, bytes: number): Promise<void> {
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
