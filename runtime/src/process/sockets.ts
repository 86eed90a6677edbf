import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  type Stats,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import type { Host } from './host.ts'
import { shortHash } from './short-hash.ts'

/** Maximum length of the names below the root. Paths of unix sockets are limited to 108 bytes. */
const MAX_NAME_BYTES = 40
const MAX_PATH_BYTES = 107

/**
 * The sockets of containers. A container owns the directory in which it listens, and may create any file there, including a link to
 * the socket of another container. So clients connect to a hard link outside of that directory, which was verified to be a socket of
 * the container's user. Several processes of the server may publish concurrently.
 */
export class ContainerSockets {
  readonly root: string
  readonly #published: string

  /** @throws when another user owns the directory (which a world-writable parent allows) */
  constructor(host: Pick<Host, 'label'>) {
    this.root = retryIfRemoved(() => ensureOwnDir(join(ensureOwnDir(baseDir(), 0o711), host.label), 0o711))
    this.#published = ensureOwnDir(join(this.root, 'published'), 0o700)
  }

  /** Returns the directory of the container's sockets, `<port>.sock`. */
  dir(container: string): string {
    return join(this.root, shortHash(container))
  }

  /** Creates the directory of the container's sockets, empty and owned by the container. */
  prepare(container: string, uid: number | null): string {
    const dir = this.dir(container)
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(dir, { mode: 0o700 })
    if (uid !== null) chownSync(dir, uid, uid)
    return dir
  }

  /** Returns the path to connect to a port of the container. Connections are refused until the container listens. */
  publish(container: string, port: number, uid: number | null): string {
    const path = this.#publishedPath(container, port)
    const listenPath = this.#listenedPath(container, port)
    const socketStats = stat(listenPath)
    const published = stat(path)
    if (socketStats && socketStats.ino !== published?.ino && isSocketOf(socketStats, uid))
      replaceLink(listenPath, path, uid)
    else if (published && !isSocketOf(published, uid)) rmSync(path, { force: true })
    return path
  }

  /** Returns the inode of the socket on which the container listens; null when there is none. */
  inode(container: string, port: number): string | null {
    const socketStats = stat(this.#listenedPath(container, port))
    return socketStats ? `${socketStats.ino}` : null
  }

  #listenedPath(container: string, port: number): string {
    return join(this.dir(container), `${port}.sock`)
  }

  /** Removes the container's directory, and the links to its sockets. */
  remove(container: string): void {
    rmSync(this.dir(container), { recursive: true, force: true })
    const prefix = `${shortHash(container)}-`
    for (const name of readdirSync(this.#published)) {
      if (name.startsWith(prefix)) rmSync(join(this.#published, name), { force: true })
    }
  }

  /** Removes the sockets of all other containers. */
  keepOnly(containers: string[]): void {
    const keptNames = new Set([...containers.map(shortHash), 'published'])
    for (const dir of [this.root, this.#published]) {
      for (const name of readdirSync(dir)) {
        if (!keptNames.has(name.split('-')[0] ?? '')) rmSync(join(dir, name), { recursive: true, force: true })
      }
    }
  }

  /** Removes the root directory if no container has a socket. */
  removeIfEmpty(): void {
    if (readdirSync(this.root).some((name) => name !== 'published') || readdirSync(this.#published).length > 0) return
    this.clear()
  }

  /** Removes the root directory with its content, and its parent unless another server uses it. */
  clear(): void {
    rmSync(this.root, { recursive: true, force: true })
    removeWhenEmpty(join(this.root, '..'))
  }

  #publishedPath(container: string, port: number): string {
    return join(this.#published, `${shortHash(container)}-${port}`)
  }
}

/** Socket paths must be short, so they cannot be in the state directory. */
function baseDir(): string {
  const uid = process.getuid?.() ?? 0
  if (process.platform === 'linux' && uid === 0) return '/run/shoal'
  const runtimeDir = `/run/user/${uid}`
  if (stat(runtimeDir)?.uid === uid) return join(runtimeDir, 'shoal')
  const preferred = join(tmpdir(), `shoal-${uid}`)
  return preferred.length + MAX_NAME_BYTES <= MAX_PATH_BYTES ? preferred : `/tmp/shoal-${uid}`
}

function ensureOwnDir(dir: string, mode: number): string {
  mkdirSync(dir, { recursive: true, mode })
  const stats = lstatSync(dir)
  if (!stats.isDirectory() || stats.uid !== (process.getuid?.() ?? stats.uid)) {
    throw new Error(`${dir} belongs to another user: remove it, or have its owner remove it`)
  }
  chmodSync(dir, mode)
  return dir
}

/** Retries `make` when another server has just removed the parent folder. */
function retryIfRemoved(make: () => string): string {
  for (let attemptsLeft = 5; ; attemptsLeft--) {
    try {
      return make()
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || attemptsLeft === 0) throw error
    }
  }
}

const stat = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/** Checks the owner, since a hard link to another user's socket is a socket too. */
const isSocketOf = (stats: Stats, uid: number | null): boolean =>
  stats.isSocket() && (uid === null || stats.uid === uid)

/** Atomically replaces `to` with a link to the socket `from`. */
function replaceLink(from: string, to: string, uid: number | null): void {
  const temporary = `${to}.${randomBytes(6).toString('hex')}`
  try {
    // link(2) does not follow symbolic links, so a file swapped in since the check is detected here.
    linkSync(from, temporary)
    if (isSocketOf(lstatSync(temporary), uid)) renameSync(temporary, to)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
  // Needed even after a rename: rename(2) does nothing when both paths are links to the same file.
  rmSync(temporary, { force: true })
}

/** Removes a folder if it is empty. Ignores a missing folder. */
function removeWhenEmpty(dir: string): void {
  try {
    rmdirSync(dir)
  } catch {
    // The folder is not empty, or was already removed.
  }
}
