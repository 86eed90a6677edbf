import { accessSync, chmodSync, constants, existsSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Creates a temporary folder that all users can read, since Postgres and squids run as other users. */
export function makeFolderForAllUsers(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix))
  chmodSync(folder, 0o755)
  return folder
}

const memoryMount = '/dev/shm'
/** The free space that a folder in memory needs. */
const requiredBytes = 2 * 2 ** 30

/**
 * Creates a temporary folder in memory that all users can read, for the Postgres of tests, because creating and deleting its thousands
 * of files takes less CPU time there. Returns null if this system has no file system in memory, or too little free memory.
 */
export function makeMemoryFolder(prefix: string): string | null {
  if (!existsSync(memoryMount) || !existsSync('/proc/mounts')) return null
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .findLast(([, path]) => path === memoryMount)
  // `accessibleBinaries` may copy Postgres there, and the mount option `noexec` would prevent it from running.
  if (mount?.[2] !== 'tmpfs' || mount[3]?.split(',').includes('noexec')) return null
  const { bavail, bsize } = statfsSync(memoryMount)
  if (bavail * bsize < requiredBytes || process.availableMemory() < 2 * requiredBytes) return null
  try {
    accessSync(memoryMount, constants.W_OK)
  } catch {
    return null
  }
  return makeFolderForAllUsers(prefix, memoryMount)
}
