import { lstatSync, readdirSync } from 'node:fs'

/**
 * Returns the bytes that a folder uses on the disk: the blocks of its files and folders, and of each file with several links once.
 * A file without blocks counts as its size, since some file systems store small files elsewhere.
 */
export function measureTree(root: string): number {
  const counted = new Set<string>()
  const measure = (path: string): number => {
    const stats = lstatSync(path)
    const bytes = Math.max(stats.blocks * 512, stats.size)
    if (stats.isDirectory())
      return readdirSync(path).reduce((total, name) => total + measure(`${path}/${name}`), stats.blocks * 512)
    if (stats.nlink === 1) return bytes
    const inode = `${stats.dev}:${stats.ino}`
    if (counted.has(inode)) return 0
    counted.add(inode)
    return bytes
  }
  return measure(root)
}
