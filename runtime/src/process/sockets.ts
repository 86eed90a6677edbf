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

/** The longest path a unix socket can have is 108 bytes; what is added to the root here takes less than this. */
const ROOM_BYTES = 40
const MAX_PATH_BYTES = 107

/**
 * Where the sockets of containers are. A container owns the directory it listens in and may put anything there, a link to
 * another's socket too. So we never connect there: we connect to our own hard link of what was checked to be a socket of that
 * container's user. Any number of processes of ours may publish at once.
 */
export class Sockets {
  readonly root: string
  readonly #published: string

  /** @throws when somebody else owns the place (a world-writable parent lets others be first) */
  constructor(host: Pick<Host, 'label'>) {
    this.root = unlessRemoved(() => ownDir(join(ownDir(baseDir(), 0o711), host.label), 0o711))
    this.#published = ownDir(join(this.root, 'published'), 0o700)
  }

  /** Where the container listens: `<dir>/<port>.sock`. */
  dir(container: string): string {
    return join(this.root, shortHash(container))
  }

  /** An empty directory of the container's own. */
  prepare(container: string, uid: number | null): string {
    const dir = this.dir(container)
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(dir, { mode: 0o700 })
    if (uid !== null) chownSync(dir, uid, uid)
    return dir
  }

  /** Where to connect to a port of the container. Nobody answers there as long as the container does not listen. */
  publish(container: string, port: number, uid: number | null): string {
    const path = this.#publishedPath(container, port)
    const listened = this.#listenedPath(container, port)
    const theirs = look(listened)
    const ours = look(path)
    if (theirs && theirs.ino !== ours?.ino && isSocketOf(theirs, uid)) replaceLink(listened, path, uid)
    else if (ours && !isSocketOf(ours, uid)) rmSync(path, { force: true })
    return path
  }

  /** Names the socket the container listens on at a port; null when there is none. Another one has another name. */
  inode(container: string, port: number): string | null {
    const theirs = look(this.#listenedPath(container, port))
    return theirs ? `${theirs.ino}` : null
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

  /** Removes what is left of containers that are not among these. */
  keepOnly(containers: string[]): void {
    const kept = new Set([...containers.map(shortHash), 'published'])
    for (const dir of [this.root, this.#published]) {
      for (const name of readdirSync(dir)) {
        if (!kept.has(name.split('-')[0] ?? '')) rmSync(join(dir, name), { recursive: true, force: true })
      }
    }
  }

  /** Removes the place when no container has a socket. */
  removeIfEmpty(): void {
    if (readdirSync(this.root).some((name) => name !== 'published') || readdirSync(this.#published).length > 0) return
    this.clear()
  }

  /** Removes the place with all that is in it, and what it lies in unless another server's lies there too. */
  clear(): void {
    rmSync(this.root, { recursive: true, force: true })
    removeWhenEmpty(join(this.root, '..'))
  }

  #publishedPath(container: string, port: number): string {
    return join(this.#published, `${shortHash(container)}-${port}`)
  }
}

/** Socket paths must be short, so they cannot lie in the state directory. */
function baseDir(): string {
  const uid = process.getuid?.() ?? 0
  if (process.platform === 'linux' && uid === 0) return '/run/shoal'
  const runtimeDir = `/run/user/${uid}`
  if (look(runtimeDir)?.uid === uid) return join(runtimeDir, 'shoal')
  const wanted = join(tmpdir(), `shoal-${uid}`)
  return wanted.length + ROOM_BYTES <= MAX_PATH_BYTES ? wanted : `/tmp/shoal-${uid}`
}

function ownDir(dir: string, mode: number): string {
  mkdirSync(dir, { recursive: true, mode })
  const stats = lstatSync(dir)
  if (!stats.isDirectory() || stats.uid !== (process.getuid?.() ?? stats.uid)) {
    throw new Error(`${dir} belongs to somebody else: remove it, or ask its owner to`)
  }
  chmodSync(dir, mode)
  return dir
}

/** Tries again when the last other server has just removed the folder that ours is to lie in. */
function unlessRemoved(make: () => string): string {
  for (let left = 5; ; left--) {
    try {
      return make()
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || left === 0) throw error
    }
  }
}

const look = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/** A hard link to another user's socket is a socket too, but never one of this user. */
const isSocketOf = (stats: Stats, uid: number | null): boolean =>
  stats.isSocket() && (uid === null || stats.uid === uid)

/** Makes `to` a link to the socket `from` in one step: whoever connects meanwhile finds the old one or the new one. */
function replaceLink(from: string, to: string, uid: number | null): void {
  const made = `${to}.${randomBytes(6).toString('hex')}`
  try {
    // link(2) does not follow a symbolic link: what was swapped in meanwhile is linked as it is, and found out here.
    linkSync(from, made)
    if (isSocketOf(lstatSync(made), uid)) renameSync(made, to)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
  }
  // Also when it was renamed: rename(2) does nothing when both are names of one file already.
  rmSync(made, { force: true })
}
