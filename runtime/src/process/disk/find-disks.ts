import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { HostLimitation } from '../../driver.ts'
import { OUT_OF_SPACE } from '../../exit-message.ts'
import { PLAIN_ENV } from '../sandbox.ts'
import { type Disks, unlimitedDisks } from './disks.ts'
import { createImageDisks, removeUnusableSpares } from './image-disks.ts'
import { createSubvolumeDisks, isOnBtrfs, removeDisk, removeStaleQuotas } from './subvolume-disks.ts'

/** `hasFilter`: programs cannot create subvolumes, because a filter of system calls forbids it. */
type DiskOptions = {
  stateDir: string
  mode: 'auto' | 'none'
  containerBytes: number
  hasUids: boolean
  hasFilter: boolean
}

/** Finds a way to limit the disk space of squids that works on this host, by mounting a disk as containers do. */
export async function findDisks(options: DiskOptions): Promise<{ disks: Disks; limitation: HostLimitation | null }> {
  const { stateDir, containerBytes } = options
  const sparesDir = join(stateDir, 'disks')
  await removeUnusableSpares(sparesDir, containerBytes)
  const subvolumes = await usableSubvolumes(options)
  const disks = subvolumes ?? createImageDisks(sparesDir, containerBytes)
  const problem = subvolumes ? null : await imageProblem(disks, options)
  const consequence = 'one squid can fill the disk.'
  const isUnlimited = containerBytes === 0
  if (problem === null) return { disks, limitation: isUnlimited ? `${UNLIMITED}: ${consequence}` : null }
  const text = isUnlimited
    ? `${UNLIMITED}, and of a build only the size of each of its files`
    : 'The disk space of a squid or build as a whole is not limited, only the size of each of its files'
  return { disks: unlimitedDisks(containerBytes), limitation: `${text} (${problem}): ${consequence}` }
}

/** Returns disks limited by quotas of the file system, if it has them. */
async function usableSubvolumes({
  stateDir,
  mode,
  containerBytes,
  hasUids,
  hasFilter,
}: DiskOptions): Promise<Disks | null> {
  if (mode === 'none' || !hasUids || !hasFilter || !isOnBtrfs(stateDir)) return null
  const disks = createSubvolumeDisks(stateDir, containerBytes)
  if ((await mountProblem(disks, stateDir)) !== null) return null
  await removeStaleQuotas(stateDir)
  return disks
}

async function imageProblem(disks: Disks, { stateDir, mode, hasUids }: DiskOptions): Promise<string | null> {
  if (mode === 'none') return 'it is disabled'
  return hasUids ? await mountProblem(disks, stateDir) : 'the server does not run as root'
}

const UNLIMITED = 'The disk space of squids is not limited (SHOAL_CONTAINER_DISK_MB=0)'

/** Returns why a disk cannot be mounted on this host; null when it can. */
async function mountProblem(disks: Disks, stateDir: string): Promise<string | null> {
  const probeDir = mkdtempSync(join(stateDir, 'disk-'))
  try {
    const dir = join(probeDir, 'disk')
    mkdirSync(join(dir, 'folder'), { recursive: true })
    const image = join(probeDir, 'image')
    const disk = { dir, folders: ['folder'], image, bytes: 16 * 1024 * 1024, newOwner: null }
    const prefix = await disks.mount(disk).catch(ignoreFullHost)
    if (prefix === null) return null
    const [program = '', ...args] = prefix
    await promisify(execFile)(program, [...args, 'touch', join(dir, 'folder/file')], {
      env: PLAIN_ENV,
      timeout: 10_000,
    })
    return null
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string }
    return (stderr?.trim() || message).split('\n').at(-1)?.replaceAll(probeDir, '…') ?? message
  } finally {
    removeDisk(join(probeDir, 'image'))
    rmSync(probeDir, { recursive: true, force: true })
  }
}

/** Returns null if the disk of the host is full: squids must not start without limits and without their files just because of that. */
function ignoreFullHost(error: unknown): null {
  if (error instanceof Error && OUT_OF_SPACE.test(error.message)) return null
  throw error
}
