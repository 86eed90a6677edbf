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
  type Stats,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../error-code.ts'
import { type Host, shortHash } from './host.ts'
import { removeWhenEmpty } from './remove-when-empty.ts'

/** Maximum length of the names below the root. Paths of unix sockets are limited to 108 bytes. */
const MAX_NAME_BYTES = 40
const MAX_PATH_BYTES = 107

/**
 * The sockets of containers. A container owns the directory it listens in and may put anything there, also a link to another's
 * socket. So clients connect to a hard link outside of it, which was verified to be a socket of the container's user. Several
 * processes of the server may publish concurrently.
 */
export class Sockets {
  readonly root: string
  readonly #published: string

  /** @throws when another user owns the directory (which a world-writable parent allows) */
  constructor(host: Pick<Host, 'label'>) {
    this.root = unlessRemoved(() => ownDir(join(ownDir(baseDir(), 0o711), host.label), 0o711))
    this.#published = ownDir(join(this.root, 'published'), 0o700)
  }

  /** The directory of the container's sockets, `<port>.sock`. */
  dir(container: string): string {
    return join(this.root, shortHash(container))
  }

  /** Creates an empty directory owned by the container. */
  prepare(container: string, uid: number | null): string {
    const dir = this.dir(container)
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(dir, { mode: 0o700 })
    if (uid !== null) chownSync(dir, uid, uid)
    return dir
  }

  /** The path to connect to a port of the container. Connections are refused until the container listens. */
  publish(container: string, port: number, uid: number | null): string {
    const path = this.#publishedPath(container, port)
    const listened = this.#listenedPath(container, port)
    const listening = stat(listened)
    const published = stat(path)
    if (listening && listening.ino !== published?.ino && isSocketOf(listening, uid)) replaceLink(listened, path, uid)
    else if (published && !isSocketOf(published, uid)) rmSync(path, { force: true })
    return path
  }

  /** Inode of the socket the container listens on; null when there is none. */
  inode(container: string, port: number): string | null {
    const listening = stat(this.#listenedPath(container, port))
    return listening ? `${listening.ino}` : null
  }

  #listenedPath(container: string, port: number): string {
    return join(this.dir(container), `${port}.sock`)
  }

  remove(container: string): void {
    rmSync(this.dir(container), { recursive: true, force: true })
    const prefix = `${shortHash(container)}-`
    for (const name of readdirSync(this.#published)) {
      if (name.startsWith(prefix)) rmSync(join(this.#published, name), { force: true })
    }
  }

  /** Removes the sockets of all other containers. */
  keepOnly(containers: string[]): void {
    const kept = new Set([...containers.map(shortHash), 'published'])
    for (const dir of [this.root, this.#published]) {
      for (const name of readdirSync(dir)) {
        if (!kept.has(name.split('-')[0] ?? '')) rmSync(join(dir, name), { recursive: true, force: true })
      }
    }
  }

  /** Removes the directory when no container has a socket. */
  removeIfEmpty(): void {
    if (readdirSync(this.root).some((name) => name !== 'published') || readdirSync(this.#published).length > 0) return
    this.clear()
  }

  /** Removes the directory with its content, and its parent unless another server uses it. */
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

function ownDir(dir: string, mode: number): string {
  mkdirSync(dir, { recursive: true, mode })
  const stats = lstatSync(dir)
  if (!stats.isDirectory() || stats.uid !== (process.getuid?.() ?? stats.uid)) {
    throw new Error(`${dir} belongs to another user: remove it, or have its owner remove it`)
  }
  chmodSync(dir, mode)
  return dir
}

/** Retries when another server has just removed the parent folder. */
function unlessRemoved(make: () => string): string {
  for (let left = 5; ; left--) {
    try {
      return make()
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || left === 0) throw error
    }
  }
}

const stat = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/** Checks the owner, since a hard link to another user's socket is a socket too. */
const isSocketOf = (stats: Stats, uid: number | null): boolean =>
  stats.isSocket() && (uid === null || stats.uid === uid)

/** Atomically replaces `to` by a link to the socket `from`. */
function replaceLink(from: string, to: string, uid: number | null): void {
  const made = `${to}.${randomBytes(6).toString('hex')}`
  try {
    // link(2) does not follow symbolic links, so a file swapped in since the check is detected here.
    linkSync(from, made)
    if (isSocketOf(lstatSync(made), uid)) renameSync(made, to)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
  // Needed also after the rename, since rename(2) does nothing when both are links of the same file.
  rmSync(made, { force: true })
}
