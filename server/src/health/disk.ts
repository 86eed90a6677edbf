import { statfs } from 'node:fs/promises'
import type { Config } from '../config/config.ts'

/** `freeBytes`: the bytes that this process may still write, without the blocks reserved for root. */
export type DiskSpace = { freeBytes: number; sizeBytes: number }

/**
 * Reads the free space of the file system of a directory. Hangs while the disk hangs.
 * @throws Error if the system call fails
 */
export async function readDisk(dir: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(dir)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}

/** Returns the free share of the disk, from 0 to 1; 1 for a file system without a size. */
export const freeShare = ({ freeBytes, sizeBytes }: DiskSpace): number => (sizeBytes === 0 ? 1 : freeBytes / sizeBytes)

/** Below this share of free disk space, programs may fail to write. */
export const minFreeShare = 0.01

type ReserveConfig = Pick<Config, 'dataDir' | 'SHOAL_DISK_RESERVE_PERCENT'>

/** Returns the bytes that deployments leave free. */
export const reserveBytes = (
  { sizeBytes }: DiskSpace,
  config: Pick<ReserveConfig, 'SHOAL_DISK_RESERVE_PERCENT'>,
): number => Math.ceil((sizeBytes * config.SHOAL_DISK_RESERVE_PERCENT) / 100)

/** Returns true while less than the reserve is free, so that deployments are refused. False if the disk cannot be read. */
export async function isReserveUsed(config: ReserveConfig): Promise<boolean> {
  const disk = await readDisk(config.dataDir).catch(() => null)
  return disk !== null && disk.freeBytes < reserveBytes(disk, config)
}
