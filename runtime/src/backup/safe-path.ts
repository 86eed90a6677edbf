import { posix } from 'node:path'
import { isAbsolute, quoted, resolveLink } from '../build/archive-rules.ts'

/**
 * Whether backups may contain this file name or link target: not if it contains control characters or is not UTF-8 (decoded as U+FFFD).
 * Squids choose such names.
 */
// oxlint-disable-next-line no-control-regex -- detects control characters
export const canBeStored = (text: string): boolean => !/[\u0000-\u001f\u007f\ufffd]/.test(text)

/** Returns why a path of a backup must not be restored, as a clause for a message; null if it may. */
export function pathRejection(path: string): string | null {
  if (isAbsolute(path)) return `${quoted(path)} is an absolute path`
  if (path.split('/').includes('..')) return `${quoted(path)} points outside of the backup`
  return canBeStored(path) ? null : `${quoted(path)} has a name that contains control characters or is not UTF-8`
}

/**
 * Whether the link at `path` leaves its top folder, such as `images/<id>`: the first two components of its path. `links`: path → target.
 * The target must be inside both with links resolved and as text, since some of the links may be skipped.
 */
export function leavesTopFolder(links: ReadonlyMap<string, string>, path: string): boolean {
  const folder = path.split('/').slice(0, 2).join('/')
  const isInside = (location: string) => location === folder || location.startsWith(`${folder}/`)
  const resolved = resolveLink(links, path)
  const target = links.get(path) ?? ''
  return resolved === null || !isInside(resolved) || !isInside(posix.join(posix.dirname(path), target))
}
