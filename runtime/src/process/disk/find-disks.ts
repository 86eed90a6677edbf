import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { HostLimitation } from '../../driver.ts'
import { OUT_OF_SPACE } from '../../exit-message.ts'
import { PLAIN_ENV } from '../sandbox.ts'
import { type Disks, unlimitedDisks } from './disks.ts'
import { createImageDisks, removeUnusableSpares } from './image-disks.ts'

type DiskOptions = { stateDir: string; mode: 'auto' | 'none'; containerBytes: number; hasUids: boolean }

/** Chooses how the disk space of squids is limited, by mounting a disk in the way a container does. */
export async function findDisks({ stateDir, mode, containerBytes, hasUids }: DiskOptions): Promise<{
  disks: Disks
  limitation: HostLimitation | null
}> {
  const sparesDir = join(stateDir, 'disks')
  await removeUnusableSpares(sparesDir, containerBytes)
  const disks = createImageDisks(sparesDir, containerBytes)
  const problem =
    mode === 'none'
      ? 'it is disabled'
      : hasUids
        ? await mountProblem(disks, stateDir)
        : 'the server does not run as root'
  const consequence = 'one squid can fill the disk.'
  const isUnlimited = containerBytes === 0
  if (problem === null) return { disks, limitation: isUnlimited ? `${UNLIMITED}: ${consequence}` : null }
  const text = isUnlimited
    ? `${UNLIMITED}, and of a build only the size of each of its files`
    : 'The disk space of a squid or build as a whole is not limited, only the size of each of its files'
  return { disks: unlimitedDisks(containerBytes), limitation: `${text} (${problem}): ${consequence}` }
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
    rmSync(probeDir, { recursive: true, force: true })
  }
}

/** A host whose disk is full now is no reason to start squids without limits, and without the files on their disks. */
function ignoreFullHost(error: unknown): null {
  if (error instanceof Error && OUT_OF_SPACE.test(error.message)) return null
  throw error
}
