import { type Stats, chmodSync, lchownSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'

/** More than any squid has, few enough to be walked. */
const MAX_ENTRIES = 500_000

/**
 * Takes a tree away from the untrusted program that wrote it: everything becomes ours, unwritable for others and free of
 * special bits; pipes, sockets and devices are removed. No program of `uid` may be running. Answers the bytes in the files.
 * `uid` null: the program ran as the user we are, so only modes can be set.
 * @throws BuildFailure when the tree is too large, or holds a hard link to a file that is not the program's
 */
export function sealTree(root: string, uid: number | null): number {
  const progress = { uid, entries: 0, bytes: 0 }
  sealEntry(root, '', progress)
  return progress.bytes
}

type Progress = { uid: number | null; entries: number; bytes: number }

function sealEntry(absolute: string, path: string, progress: Progress): void {
  progress.entries += 1
  if (progress.entries > MAX_ENTRIES) {
    throw new BuildFailure('SOURCE_FILES_BUILD_FAILED', `The build left more than ${MAX_ENTRIES} files.`)
  }
  const { uid } = progress
  const stats = lstatSync(absolute)
  if (stats.isSymbolicLink()) {
    chownToServer(absolute, uid)
  } else if (stats.isDirectory()) {
    chownToServer(absolute, uid)
    setMode(absolute, 0o755, stats)
    readdirSync(absolute).forEach((name) => sealEntry(`${absolute}/${name}`, join(path, name), progress))
  } else if (stats.isFile()) {
    progress.bytes += stats.size
    sealFile(absolute, path, stats, uid)
  } else {
    rmSync(absolute)
  }
}

function sealFile(absolute: string, path: string, stats: Stats, uid: number | null): void {
  const mode = (stats.mode & 0o100) === 0 ? 0o644 : 0o755
  if (uid === null || stats.uid === uid) {
    chownToServer(absolute, uid)
    setMode(absolute, mode, stats)
  } else if (stats.uid !== process.getuid?.() || (stats.mode & 0o7777) !== mode) {
    // Changing the mode or owner of a foreign file would change it wherever else it is linked.
    const name = JSON.stringify(path)
    throw new BuildFailure(
      'SOURCE_FILES_BUILD_FAILED',
      `The build left ${name}, a hard link to a file that is not its own.`,
    )
  }
}

function chownToServer(path: string, uid: number | null): void {
  if (uid !== null) {
    lchownSync(path, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
  }
}

/** A change of owner may have cleared special bits, but must not be relied on to. */
function setMode(path: string, mode: number, stats: Stats): void {
  if ((stats.mode & 0o7777) !== mode) {
    chmodSync(path, mode)
  }
}
