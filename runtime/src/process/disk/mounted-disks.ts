import { execFile } from 'node:child_process'
import { existsSync, lstatSync } from 'node:fs'
import { promisify } from 'node:util'
import { NEW_MOUNT_NAMESPACE, PLAIN_ENV } from '../sandbox.ts'
import type { DiskMount, Disks } from './disks.ts'
import { holdNamespace, isDiskFull, joinNamespace, openDisk } from './open-disk.ts'

const MOUNT_OPTIONS = 'nosuid,nodev,noatime'

/**
 * A shell script that mounts `$image` on `$dir`: a subvolume (a folder) or an ext4 image, whichever an earlier server created.
 * Concurrent mounts of an image wait for each other, so that they share a loop device instead of corrupting the file system. A mount
 * may fail while a namespace with the same image is being removed, so it is tried again once.
 */
const ATTACH = `attach() { if [ -d "$image" ]; then mount -o bind,${MOUNT_OPTIONS} "$image" "$dir" </dev/null
else flock "$image" mount -t ext4 -o loop,${MOUNT_OPTIONS},discard,noinit_itable "$image" "$dir" </dev/null; fi; }
attach 2>/dev/null || { sleep 0.2; attach; } || exit 125`

/**
 * A shell script that mounts the disk, then executes the remaining arguments. The loop device and the mount end with the mount
 * namespace, so nothing remains if the server is killed or this host crashes. `discard` returns the space of deleted files to the host.
 */
const MOUNT = `image=$1 dir=$2 folders=$3 from=$4 to=$5; shift 5
cd -- "$dir" || exit 125
${ATTACH}
missing=; for folder in $folders; do [ -e "$dir/$folder" ] || missing="$missing $folder"; done
[ -z "$missing" ] || cp -a --parents $missing "$dir/" || exit 125
[ -z "$from" ] || chown -R -h -P --from="$from" "$to" "$dir" || exit 125
cd / && exec "$@"`

/** A way to limit the space of a disk. */
export type DiskLimits = Pick<Disks, 'containerBytes' | 'close'> & {
  kind: Exclude<Disks['kind'], 'none'>
  /** Creates the disk if it does not exist. Concurrent calls for the same disk create it once. @throws Error when it cannot be created */
  ensure: (disk: Pick<DiskMount, 'image' | 'bytes'>) => Promise<void>
  /**
   * Whether a disk of this kind is full; null if unknown. `dir`: its mount point, as this process sees it. `isExact`: measure now,
   * without a cache.
   */
  isFull: (image: string, dir: string, isExact: boolean) => Promise<boolean | null>
}

/** Creates disks that are mounted in a mount namespace of their programs. */
export function createMountedDisks({ kind, containerBytes, ensure, isFull, close }: DiskLimits): Disks {
  const mount = async (disk: DiskMount) => {
    // A container that was deployed while its disk space was limited keeps its disk.
    if (disk.bytes === 0 && !existsSync(disk.image)) return []
    await ensure(disk)
    const { image, dir, folders, newOwner } = disk
    const owners = [newOwner?.from, newOwner?.to].map((uid) => String(uid ?? ''))
    return [...NEW_MOUNT_NAMESPACE, '/bin/sh', '-c', MOUNT, 'shoal-disk', image, dir, folders.join(' '), ...owners]
  }
  return {
    kind,
    containerBytes,
    mount,
    async open(disk) {
      const holder = await holdNamespace(await mount({ ...disk, folders: [], newOwner: null }))
      const attach = async ({ dir, image, bytes }: Omit<DiskMount, 'folders' | 'newOwner'>) => {
        await ensure({ image, bytes })
        const script = `image=$1 dir=$2\n${ATTACH}`
        const [program, ...args] = [...joinNamespace(holder), '/bin/sh', '-c', script, 'shoal-disk', image, dir]
        await promisify(execFile)(program, args, { env: PLAIN_ENV, timeout: 30_000 })
      }
      return openDisk(holder, { kind, attach, isFull: (root) => isFull(disk.image, `${root}${disk.dir}`, true) })
    },
    isFull: async ({ image, dir, pid }) => {
      // Nothing is mounted for a program that was started without a disk.
      const isFolder = lstatSync(image, { throwIfNoEntry: false })?.isDirectory()
      if (isFolder === undefined || isFolder !== (kind === 'quota')) return isDiskFull(pid, dir, containerBytes)
      return await isFull(image, `/proc/${pid}/root${dir}`, false)
    },
    close,
  }
}
