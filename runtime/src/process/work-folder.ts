import { execFile } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PLAIN_ENV } from './sandbox.ts'

/**
 * How a container gets a folder of its own to work in, that begins as the image's and is lost with the container. `overlay`: the
 * kernel lays a writable layer over the image, at the same path, in a mount namespace that ends with the container's programs.
 * `links`: another folder, in which the image's folders are made again and its files are links.
 */
export type WorkFolders = 'overlay' | 'links'

export type WorkFolder = {
  /** Where the program starts. */
  cwd: string
  /** Words before everything else that starts it. */
  words: string[]
  writableDirs: string[]
}

/** Folders of dependencies are large, and nothing is written there. */
const SHARED = 'node_modules'
/** So much is made for each container, at the most. */
const MOST_ENTRIES = 5000

/** Shell text: lays the layer over the image, then becomes what stands behind it. */
const MOUNT =
  'mount -t overlay shoal -o "lowerdir=$1,upperdir=$2,workdir=$3" "$1" </dev/null || exit 125; shift 3; exec "$@"'

const overlayWords = (appDir: string, dir: string): [string, ...string[]] => {
  const shell = ['/bin/sh', '-c', MOUNT, 'shoal-work-folder', appDir, join(dir, 'upper'), join(dir, 'work')]
  return ['unshare', '--mount', '--propagation=private', ...shell]
}

/** True when overlays can be mounted with their layer on the file system of `stateDir`; tried with the very words used later. */
export async function canMountOverlay(stateDir: string): Promise<boolean> {
  const dir = mkdtempSync(join(stateDir, 'overlay-'))
  try {
    for (const name of ['app', 'upper', 'work']) mkdirSync(join(dir, name))
    const [program, ...words] = overlayWords(join(dir, 'app'), dir)
    await promisify(execFile)(program, [...words, 'true'], { env: PLAIN_ENV, timeout: 10_000 })
    return true
  } catch {
    return false
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * The work folder of a container whose own files for it are in `dir`. What its programs wrote there before stays. Files of the image
 * can be replaced and not changed in place; the image itself is never changed.
 */
export function workFolder(kind: WorkFolders, appDir: string, dir: string, uid: number | null): WorkFolder {
  const cwd = join(dir, kind === 'overlay' ? 'upper' : 'app')
  // Only ours: it is reached through the mount.
  mkdirSync(dir, { recursive: true, mode: kind === 'overlay' ? 0o700 : 0o711 })
  fill(kind, { from: appDir, to: cwd, uid, entries: 0 })
  if (kind === 'links') return { cwd, words: [], writableDirs: [cwd] }
  mkdirSync(join(dir, 'work'), { recursive: true })
  return { cwd: appDir, words: overlayWords(appDir, dir), writableDirs: [appDir] }
}

type Filling = { from: string; to: string; uid: number | null; entries: number }

/** Makes the image's folders again, owned by the container's user, so that it can write in them. */
function fill(kind: WorkFolders, filling: Filling): void {
  const { from, to, uid } = filling
  if (mkdirSync(to, { recursive: true, mode: 0o755 }) === undefined) return
  if (uid !== null) chownSync(to, uid, uid)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    filling.entries++
    const isFolder = entry.isDirectory() && entry.name !== SHARED && filling.entries <= MOST_ENTRIES
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (isFolder) {
      const below = { from: source, to: target, uid, entries: filling.entries }
      fill(kind, below)
      filling.entries = below.entries
    } else if (kind === 'links') symlinkSync(source, target)
  }
}
