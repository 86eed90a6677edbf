import {
  constants,
  copyFileSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'

export type CloneOptions = {
  /** The owner of the new folders, links and copies; null: the user of the server. */
  uid: number | null
  /** Which files are hard links to the original instead of copies: none, all, or all except those that package managers rewrite. */
  hardLinks: 'none' | 'all' | 'packages'
}

/**
 * Clones the folder `from` to `to`, which must not exist. Keeps symbolic links and modes.
 * @throws when `from` is not a folder: a build may have replaced the folder with a link, and earlier releases cached such links
 */
export function cloneTree(from: string, to: string, options: CloneOptions): void {
  if (!lstatSync(from).isDirectory()) {
    throw new Error(`${from} is not a folder`)
  }
  cloneFolder(from, to, '', options)
}

function cloneFolder(from: string, to: string, relativeDir: string, options: CloneOptions): void {
  const { uid, hardLinks } = options
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const source = `${from}/${entry.name}`
    const target = `${to}/${entry.name}`
    const path = join(relativeDir, entry.name)
    if (entry.isDirectory()) {
      cloneFolder(source, target, path, options)
    } else if (entry.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target)
      setOwner(target, uid)
    } else if (
      hardLinks === 'none' ||
      (hardLinks === 'packages' && isManagerMetadata(path)) ||
      !tryLink(source, target)
    ) {
      copyFileSync(source, target, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
      setOwner(target, uid)
    }
  }
  // Only now: a program of the user could replace a folder with a link while the server fills it.
  setOwner(to, uid)
}

/** Gives all folders of a tree, and the files that package managers rewrite in place, to the user `uid`. */
export function changeOwner(folder: string, uid: number, relativeDir = ''): void {
  lchownSync(folder, uid, uid)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(relativeDir, entry.name)
    if (entry.isDirectory()) {
      changeOwner(`${folder}/${entry.name}`, uid, path)
    } else if (isManagerMetadata(path)) {
      lchownSync(`${folder}/${entry.name}`, uid, uid)
    }
  }
}

/** True for metadata files that package managers rewrite in place. */
function isManagerMetadata(path: string): boolean {
  return /^\.[^/]+$/.test(path) || path === '.pnpm/lock.yaml'
}

/** Creates a hard link. False when the file system does not allow one. */
function tryLink(source: string, target: string): boolean {
  try {
    linkSync(source, target)
    return true
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EMLINK' || code === 'EXDEV' || code === 'EPERM') {
      return false
    }
    throw error
  }
}

function setOwner(path: string, uid: number | null): void {
  if (uid !== null) {
    lchownSync(path, uid, uid)
  }
}
