import { execFile } from 'node:child_process'
import { existsSync, lchownSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NEW_MOUNT_NAMESPACE, PLAIN_ENV } from './sandbox.ts'

/**
 * How a container gets a writable work folder with the content of the image. The folder is deleted with the container. `overlay`: a
 * writable overlay mount over the image, at the same path, in a mount namespace of the container's programs. `links`: a separate
 * folder with copies of the image's folders, and links to its files.
 */
export type WorkFolders = 'overlay' | 'links'

/** How to start a program in its work folder. */
export type WorkFolder = {
  /** The working directory of the program. */
  cwd: string
  /** A command prefix that mounts the disk and the overlay; empty if there is neither. */
  commandPrefix: string[]
  writableDirs: string[]
}

/**
 * The folder that is not recreated but shared with the image (by a link, with `links`): dependencies are large, and programs do not
 * write there.
 */
const SHARED_FOLDER = 'node_modules'
/** Number of entries after which folders of the image are no longer recreated, but shared like `SHARED_FOLDER`. */
const MAX_ENTRIES = 5000

/** A shell script that mounts the overlay, then executes the remaining arguments. */
const MOUNT =
  'mount -t overlay shoal -o "lowerdir=$1,upperdir=$2,workdir=$3" "$1" </dev/null || exit 125; shift 3; exec "$@"'

const overlayPrefix = (appDir: string, dir: string): [string, ...string[]] => [
  '/bin/sh',
  '-c',
  MOUNT,
  'shoal-work-folder',
  appDir,
  join(dir, 'upper'),
  join(dir, 'work'),
]

/** Returns how work folders are made on this host, with a description for the log that says why overlays cannot be mounted. */
export async function findWorkFolders(
  stateDir: string,
  mayUseOverlays: boolean,
): Promise<{ workFolders: WorkFolders; summary: string }> {
  if (!mayUseOverlays) return { workFolders: 'links', summary: 'work folders of links' }
  const problem = await overlayProblem(stateDir)
  return problem === null
    ? { workFolders: 'overlay', summary: 'work folders by overlays' }
    : { workFolders: 'links', summary: `work folders of links, because overlays cannot be mounted (${problem})` }
}

/**
 * Mounts an overlay with its upper layer in `stateDir`, by the same command that is used for programs, and removes it. Returns why the
 * mount fails; null if it succeeds.
 */
async function overlayProblem(stateDir: string): Promise<string | null> {
  const dir = mkdtempSync(join(stateDir, 'overlay-'))
  try {
    for (const name of ['app', 'upper', 'work']) mkdirSync(join(dir, name))
    const [program = '', ...args] = [...NEW_MOUNT_NAMESPACE, ...overlayPrefix(join(dir, 'app'), dir)]
    await promisify(execFile)(program, [...args, 'true'], { env: PLAIN_ENV, timeout: 10_000 })
    return null
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string }
    return (stderr.split('\n')[0] || message).trim()
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * Prepares the work folder of a container in `dir`, keeping files that its programs wrote before. Files of the image can be replaced
 * but not modified in place; the image itself never changes. `diskPrefix`: a command prefix that mounts the disk that contains `dir`
 * in a new mount namespace; empty if there is no disk.
 */
export function prepareWorkFolder(
  kind: WorkFolders,
  appDir: string,
  dir: string,
  { uid, diskPrefix }: { uid: number | null; diskPrefix: string[] },
): WorkFolder {
  const cwd = join(dir, kind === 'overlay' ? 'upper' : 'app')
  // With overlays the folder is private, since programs access it through the mount.
  mkdirSync(dir, { recursive: true, mode: kind === 'overlay' ? 0o700 : 0o711 })
  if (!existsSync(cwd)) {
    const newFolder = `${cwd}-new`
    rmSync(newFolder, { recursive: true, force: true })
    fillFolder(kind, { from: appDir, to: newFolder, uid, entries: 0 })
    renameSync(newFolder, cwd)
  }
  if (kind === 'links') return { cwd, commandPrefix: diskPrefix, writableDirs: [cwd] }
  mkdirSync(join(dir, 'work'), { recursive: true })
  const namespace = diskPrefix.length > 0 ? diskPrefix : NEW_MOUNT_NAMESPACE
  return { cwd: appDir, commandPrefix: [...namespace, ...overlayPrefix(appDir, dir)], writableDirs: [appDir] }
}

type FillProgress = { from: string; to: string; uid: number | null; entries: number }

/** Recreates the image's folders, owned by the container's user; `links` also creates the links to its files. */
function fillFolder(kind: WorkFolders, progress: FillProgress): void {
  const { from, to, uid } = progress
  mkdirSync(to, { mode: 0o755 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    progress.entries++
    const isFolder = entry.isDirectory() && entry.name !== SHARED_FOLDER && progress.entries <= MAX_ENTRIES
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (isFolder) {
      const folderProgress = { from: source, to: target, uid, entries: progress.entries }
      fillFolder(kind, folderProgress)
      progress.entries = folderProgress.entries
    } else if (kind === 'links') symlinkSync(source, target)
  }
  // Only now: another program of the user could replace a folder with a link while the server fills it.
  if (uid !== null) lchownSync(to, uid, uid)
}
