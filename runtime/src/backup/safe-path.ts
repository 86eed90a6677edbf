import { posix } from 'node:path'
import { isAbsolute, quoted, resolveLink } from '../build/archive-rules.ts'

/** The extended headers of tar cannot hold line feeds, and what is not UTF-8 has no name here. Programs of squids choose names. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
export const canBeNamed = (text: string): boolean => !/[\u0000-\u001f\u007f\ufffd]/.test(text)

/** Why a path of a backup may not be written, as a clause; null when it may. */
export function refusalOfPath(path: string): string | null {
  if (isAbsolute(path)) return `${quoted(path)} is an absolute path`
  if (path.split('/').includes('..')) return `${quoted(path)} points outside of the backup`
  return canBeNamed(path) ? null : `${quoted(path)} has a name with control characters`
}

/** True for a link of `links` (path → target) that leaves the folder which the first two names of its path make. */
export function leadsOutside(links: ReadonlyMap<string, string>, path: string): boolean {
  const folder = path.split('/').slice(0, 2).join('/')
  const isInside = (led: string) => led === folder || led.startsWith(`${folder}/`)
  const resolved = resolveLink(links, path)
  const target = links.get(path) ?? ''
  return resolved === null || !isInside(resolved) || !isInside(posix.join(posix.dirname(path), target))
}
