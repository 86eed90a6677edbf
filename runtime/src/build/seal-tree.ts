import { type Stats, chmodSync, lchownSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'

/** Limits the time to traverse a tree. No legitimate squid has this many files. */
const MAX_ENTRIES = 500_000

/**
 * Makes a tree read-only for the untrusted program that wrote it: the server becomes the owner, special bits are cleared, and
 * pipes, sockets and devices are removed. No program of `uid` may be running. `uid` null: the program ran as the user
 * of the server, so only modes are set. Returns the total size of the files in bytes.
 * @throws BuildFailure when the tree is too large, is not a folder, or contains a hard link to a file of another user
 */
export function sealTree(root: string, uid: number | null): number {
  // If a link has replaced the folder, the server would follow it and copy files of the host for the tenant.
  if (!lstatSync(root).isDirectory()) {
    throw new BuildFailure(
      'SOURCE_FILES_BUILD_FAILED',
      'The build replaced node_modules with something other than a folder.',
    )
  }
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
    // Changing the mode or owner would also affect the other links of the file.
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

/** Sets the mode of an entry, and clears special bits, which a change of owner does only on some systems. */
function setMode(path: string, mode: number, stats: Stats): void {
  if ((stats.mode & 0o7777) !== mode) {
    chmodSync(path, mode)
  }
}
