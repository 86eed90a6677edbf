import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/**
 * A directory for files that other uids must access (Postgres, toolchains, images, containers): `dir` itself, except for
 * root below a private folder (such as a 0700 home). Then it is a folder under /var/lib/shoal, named by a hash of `dir`
 * and recorded in `dir/reachable-at`.
 */
export function traversableDir(dir: string): string {
  const wanted = resolve(dir)
  mkdirSync(wanted, { recursive: true })
  if (process.getuid?.() !== 0) return wanted
  if (isOpenToOthers(dirname(wanted))) {
    // Others may traverse but not list it.
    chmodSync(wanted, 0o711)
    return wanted
  }
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 8)
  const instead = join('/var/lib/shoal', hash)
  mkdirSync(instead, { recursive: true, mode: 0o755 })
  writeFileSync(join(wanted, 'reachable-at'), `${instead}\n`)
  return instead
}

/** True when every uid may traverse to `dir`. */
export function isOpenToOthers(dir: string): boolean {
  const mayWalk = (statSync(dir).mode & 0o001) !== 0
  const parent = dirname(dir)
  return mayWalk && (parent === dir || isOpenToOthers(parent))
}
