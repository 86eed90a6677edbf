import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, lstatSync, statfsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeTraversable, removeTree } from '../container-record.ts'
import { PLAIN_ENV } from '../sandbox.ts'
import type { DiskMount, Disks } from './disks.ts'
import { createMountedDisks } from './mounted-disks.ts'
import { FULL_BYTES, FULL_SHARE } from './open-disk.ts'

/** The type of btrfs in statfs(2). */
const BTRFS = 0x9123_683e
/** Minimum interval between two readings of the usage of all disks. The kernel updates it every 30 seconds. */
const LIST_MS = 5_000

export const isOnBtrfs = (dir: string): boolean => statfsSync(dir).type === BTRFS

/**
 * Creates disks as btrfs subvolumes with a quota, which the operator must have enabled for the file system. `stateDir`: a directory
 * of the file system. Programs must not be able to create subvolumes, which the quota does not include.
 */
export function createSubvolumeDisks(stateDir: string, containerBytes: number): Disks {
  const pendingSubvolumes = new Map<string, Promise<void>>()
  let listed: { at: number; quotas: Promise<Map<string, Quota>> } | null = null

  const addSubvolume = async ({ image, bytes }: Pick<DiskMount, 'image' | 'bytes'>) => {
    // The path may be an image from a server without quotas.
    if (existsSync(image)) return
    const temporary = join(image, '..', `new-${randomUUID()}`)
    try {
      await btrfs('subvolume', 'create', temporary)
      await btrfs('qgroup', 'limit', String(bytes), temporary)
      makeTraversable(temporary)
      await rename(temporary, image)
    } finally {
      await rm(temporary, { recursive: true, force: true })
    }
  }

  const ensure = async (disk: Pick<DiskMount, 'image' | 'bytes'>) => {
    const pending =
      pendingSubvolumes.get(disk.image) ?? addSubvolume(disk).finally(() => pendingSubvolumes.delete(disk.image))
    pendingSubvolumes.set(disk.image, pending)
    await pending
  }

  const listQuotas = () => {
    const now = performance.now()
    if (!listed || now - listed.at > LIST_MS) listed = { at: now, quotas: readQuotas(stateDir) }
    return listed.quotas
  }

  return createMountedDisks({
    kind: 'quota',
    containerBytes,
    ensure,
    async isFull(image, _dir, isExact) {
      try {
        if (isExact) {
          await btrfs('filesystem', 'sync', image)
          listed = null
        }
        const id = (await btrfs('inspect-internal', 'rootid', image)).trim()
        const quota = (await listQuotas()).get(id)
        if (!quota) return null
        return quota.maxBytes - quota.usedBytes < Math.max(quota.maxBytes * FULL_SHARE, FULL_BYTES)
      } catch {
        return null
      }
    },
    close: async () => undefined,
  })
}

type Quota = { usedBytes: number; maxBytes: number }

/** Returns the limited quotas of the file system of `dir`, by the ids of their subvolumes. */
async function readQuotas(dir: string): Promise<Map<string, Quota>> {
  const text = await btrfs('qgroup', 'show', '--raw', '-re', dir)
  const lines = [...text.matchAll(/^0\/(\d+)\s+(\d+)\s+\d+\s+(\d+)\s/gm)]
  return new Map(lines.map(([, id = '', used, max]) => [id, { usedBytes: Number(used), maxBytes: Number(max) }]))
}

/** Removes the quotas of deleted subvolumes, which older kernels keep. */
export async function removeStaleQuotas(dir: string): Promise<void> {
  await btrfs('qgroup', 'clear-stale', dir).catch(() => undefined)
}

/** Deletes a disk of any kind. A subvolume is deleted as a whole: it may contain millions of files. */
export function removeDisk(image: string): void {
  if (lstatSync(image, { throwIfNoEntry: false })?.isDirectory()) {
    try {
      execFileSync('btrfs', ['subvolume', 'delete', image], { env: PLAIN_ENV, stdio: 'ignore' })
      return
    } catch {
      // The disk is an ordinary folder, not a subvolume.
    }
  }
  removeTree(image)
}

/** @throws when the command fails, with its error message */
async function btrfs(...args: string[]): Promise<string> {
  return (await promisify(execFile)('btrfs', args, { env: PLAIN_ENV, timeout: 30_000 })).stdout
}
