import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The directory of state that all installations of root on the host share. */
const hostDir = '/var/lib/shoal'

/** Creates the directory that all installations of root on the host share, and returns it. Others may traverse but not list it. */
export function prepareHostDir(): string {
  mkdirSync(hostDir, { recursive: true })
  chmodSync(hostDir, 0o711)
  return hostDir
}

/**
 * Returns a directory for files that other uids must access (Postgres, toolchains, images, containers). This is `dir` itself,
 * unless the process is root and `dir` is inside a private folder (such as a 0700 home): then it is a folder under
 * `hostDir`, named by a hash of `dir` and recorded in `dir/reachable-at`.
 */
export function traversableDir(dir: string): string {
  const path = resolve(dir)
  mkdirSync(path, { recursive: true })
  if (process.getuid?.() !== 0) return path
  if (isOpenToOthers(dirname(path))) {
    // Other users may traverse the directory but not list it.
    chmodSync(path, 0o711)
    return path
  }
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 8)
  const replacement = join(prepareHostDir(), hash)
  mkdirSync(replacement, { recursive: true, mode: 0o755 })
  writeFileSync(join(path, 'reachable-at'), `${replacement}\n`)
  return replacement
}

/** True when every uid may traverse to `dir`. */
export function isOpenToOthers(dir: string): boolean {
  const isTraversable = (statSync(dir).mode & 0o001) !== 0
  const parent = dirname(dir)
  return isTraversable && (parent === dir || isOpenToOthers(parent))
}
