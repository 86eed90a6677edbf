import { execFile } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PLAIN_ENV } from './sandbox.ts'

/**
 * How a container gets a writable work folder with the content of the image, which is deleted with the container. `overlay`: a
 * writable overlay mount over the image, at the same path, in a mount namespace of the container's programs. `links`: another
 * folder with copies of the image's folders and links to its files.
 */
export type WorkFolders = 'overlay' | 'links'

export type WorkFolder = {
  /** Where the program starts. */
  cwd: string
  /** Command prefix. */
  words: string[]
  writableDirs: string[]
}

/** Dependencies are large, and programs do not write there. */
const SHARED = 'node_modules'
/** Maximum number of entries created per container. */
const MAX_ENTRIES = 5000

/** Shell script: mounts the overlay, then executes the remaining arguments. */
const MOUNT =
  'mount -t overlay shoal -o "lowerdir=$1,upperdir=$2,workdir=$3" "$1" </dev/null || exit 125; shift 3; exec "$@"'

const overlayWords = (appDir: string, dir: string): [string, ...string[]] => {
  const shell = ['/bin/sh', '-c', MOUNT, 'shoal-work-folder', appDir, join(dir, 'upper'), join(dir, 'work')]
  return ['unshare', '--mount', '--propagation=private', ...shell]
}

/** True when overlays can be mounted with their layer on the file system of `stateDir`; tried with the same command as used later. */
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
 * Prepares the work folder of a container in `dir`, keeping files that its programs wrote before. Files of the image can be replaced
 * but not modified in place; the image itself never changes.
 */
export function workFolder(kind: WorkFolders, appDir: string, dir: string, uid: number | null): WorkFolder {
  const cwd = join(dir, kind === 'overlay' ? 'upper' : 'app')
  // Private with overlays, since programs access it through the mount.
  mkdirSync(dir, { recursive: true, mode: kind === 'overlay' ? 0o700 : 0o711 })
  fill(kind, { from: appDir, to: cwd, uid, entries: 0 })
  if (kind === 'links') return { cwd, words: [], writableDirs: [cwd] }
  mkdirSync(join(dir, 'work'), { recursive: true })
  return { cwd: appDir, words: overlayWords(appDir, dir), writableDirs: [appDir] }
}

type Filling = { from: string; to: string; uid: number | null; entries: number }

/** Creates the image's folders, owned by the container's user, so that it can write to them. */
function fill(kind: WorkFolders, filling: Filling): void {
  const { from, to, uid } = filling
  if (mkdirSync(to, { recursive: true, mode: 0o755 }) === undefined) return
  if (uid !== null) chownSync(to, uid, uid)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    filling.entries++
    const isFolder = entry.isDirectory() && entry.name !== SHARED && filling.entries <= MAX_ENTRIES
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (isFolder) {
      const below = { from: source, to: target, uid, entries: filling.entries }
      fill(kind, below)
      filling.entries = below.entries
    } else if (kind === 'links') symlinkSync(source, target)
  }
}
