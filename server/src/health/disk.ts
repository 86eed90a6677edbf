import { statfs } from 'node:fs/promises'

/** `freeBytes` is the number of bytes that this process may still write, without the blocks reserved for root. */
export type Disk = { freeBytes: number; sizeBytes: number }

/**
 * Reads the free space of the file system that a directory is on. Hangs for as long as the disk does.
 * @throws Error of the system call
 */
export async function readDisk(dir: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(dir)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}
