import { posix } from 'node:path'
import { isAbsolute, quoted, resolveLink } from '../build/archive-rules.ts'

/** Extended tar headers cannot contain line feeds, and names must be UTF-8. Squids choose file names freely. */
// oxlint-disable-next-line no-control-regex -- control characters are to be detected
export const canBeNamed = (text: string): boolean => !/[\u0000-\u001f\u007f\ufffd]/.test(text)

/** Why a path of a backup must not be written, as a clause; null if allowed. */
export function refusalOfPath(path: string): string | null {
  if (isAbsolute(path)) return `${quoted(path)} is an absolute path`
  if (path.split('/').includes('..')) return `${quoted(path)} points outside of the backup`
  return canBeNamed(path) ? null : `${quoted(path)} has a name with control characters`
}

/** True for a link of `links` (path → target) that leaves the folder of the first two components of its path. */
export function leadsOutside(links: ReadonlyMap<string, string>, path: string): boolean {
  const folder = path.split('/').slice(0, 2).join('/')
  const isInside = (led: string) => led === folder || led.startsWith(`${folder}/`)
  const resolved = resolveLink(links, path)
  const target = links.get(path) ?? ''
  return resolved === null || !isInside(resolved) || !isInside(posix.join(posix.dirname(path), target))
}
