import { statfs } from 'node:fs/promises'

/** `freeBytes`: what this process may still write; root's reserve is not part of it. */
export type Disk = { freeBytes: number; sizeBytes: number }

/**
 * The disk that a directory is on, as it is now.
 *
 * @throws Error of the system call; it may hang as long as the disk does
 */
export async function readDisk(dir: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(dir)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}
