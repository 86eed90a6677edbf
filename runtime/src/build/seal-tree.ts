import type { Stats } from 'node:fs'
import { chmod, lchown, lstat, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'

/** More than any squid has, few enough to be listed in memory. */
const MAX_ENTRIES = 500_000

/**
 * Takes a tree away from the untrusted program that wrote it: everything becomes ours, unwritable for others and free of
 * special bits; pipes, sockets and devices are removed. No program of `uid` may be running. Answers the bytes in the files.
 * `uid` null: the program ran as the user we are, so only modes can be set.
 * @throws BuildFailure when the tree is too large, or holds a hard link to a file that is not the program's
 */
export async function sealTree(root: string, uid: number | null): Promise<number> {
  return await sealEntry(root, '', { uid, entries: 0 })
}

type Progress = { uid: number | null; entries: number }

async function sealEntry(absolute: string, path: string, progress: Progress): Promise<number> {
  const { uid } = progress
  progress.entries += 1
  if (progress.entries > MAX_ENTRIES) {
    throw new BuildFailure('SOURCE_FILES_BUILD_FAILED', `The build left more than ${MAX_ENTRIES} files.`)
  }
  const stats = await lstat(absolute)
  if (stats.isSymbolicLink()) {
    await takeOver(absolute, uid)
    return 0
  }
  if (stats.isDirectory()) {
    await takeOver(absolute, uid)
    await setMode(absolute, 0o755, stats)
    const names = await readdir(absolute)
    const bytes = await Promise.all(names.map((name) => sealEntry(join(absolute, name), join(path, name), progress)))
    return bytes.reduce((total, part) => total + part, 0)
  }
  if (!stats.isFile()) {
    await rm(absolute)
    return 0
  }
  const mode = (stats.mode & 0o100) === 0 ? 0o644 : 0o755
  if (uid === null || stats.uid === uid) {
    await takeOver(absolute, uid)
    await setMode(absolute, mode, stats)
  } else if (stats.uid !== process.getuid?.() || (stats.mode & 0o7777) !== mode) {
    // Changing the mode or owner of a foreign file would change it wherever else it is linked.
    throw new BuildFailure(
      'SOURCE_FILES_BUILD_FAILED',
      `The build left ${JSON.stringify(path)}, a hard link to a file that is not its own.`,
    )
  }
  return stats.size
}

async function takeOver(path: string, uid: number | null): Promise<void> {
  if (uid !== null) {
    await lchown(path, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
  }
}

/** A change of owner may have cleared special bits, but must not be relied on to. */
async function setMode(path: string, mode: number, stats: Stats): Promise<void> {
  if ((stats.mode & 0o7777) !== mode) {
    await chmod(path, mode)
  }
}
