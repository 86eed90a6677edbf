import { posix } from 'node:path'

/** The header of an archive entry. */
export type ArchiveEntry = {
  path: string
  /** Type name of the `tar` package. */ type: string
  linkpath?: string | undefined
}

const MAX_NAME_BYTES = 255
const MAX_PATH_BYTES = 1024
const MAX_DEPTH = 64
const FILES = new Set(['File', 'OldFile', 'ContiguousFile'])
const LINKS = new Set(['Link', 'SymbolicLink'])

/** The path without `./`, double or trailing slashes; empty for the root of the archive. */
export function plainPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  return parts.join('/')
}

/** Why the entry must not be unpacked, as a sentence for the user; null if allowed. Checks only the entry's header. */
export function refusalOf(entry: ArchiveEntry): string | null {
  const name = quoted(entry.path)
  const badPath = refusalOfPath(entry.path)
  if (badPath !== null) {
    return `${name} ${badPath}`
  }
  const path = plainPath(entry.path)
  if (path === '') {
    return entry.type === 'Directory' ? null : 'The archive has something other than a folder as its root'
  }
  if (entry.type === 'Directory' || FILES.has(entry.type)) {
    return null
  }
  if (!LINKS.has(entry.type)) {
    return `${name} is a ${entryTypeName(entry.type)}; a squid may contain only files, folders and links`
  }
  return refusalOfLink(path, entry.type === 'Link' ? 'hard link' : 'link', entry.linkpath ?? '')
}

function refusalOfPath(path: string): string | null {
  if (isAbsolute(path)) {
    return 'is an absolute path; paths in the archive must be relative to the squid’s folder'
  }
  const parts = path.split('/')
  if (parts.includes('..')) {
    return 'points outside of the squid’s folder'
  }
  if (parts.length > MAX_DEPTH) {
    return `is more than ${MAX_DEPTH} folders deep`
  }
  if (Buffer.byteLength(path) > MAX_PATH_BYTES || parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    return `is too long: names are limited to ${MAX_NAME_BYTES} bytes, paths to ${MAX_PATH_BYTES}`
  }
  if (hasInvalidCharacters(path)) {
    return 'has a name with control characters, a backslash or bytes that are not UTF-8; rename it'
  }
  return null
}

function refusalOfLink(path: string, kind: 'link' | 'hard link', target: string): string | null {
  const from = kind === 'link' ? posix.dirname(path) : '.'
  const escapes = isAbsolute(target) || posix.normalize(posix.join(from, target)).split('/')[0] === '..'
  if (escapes) {
    return escapingLink(path, kind, target)
  }
  return hasInvalidCharacters(target) || Buffer.byteLength(target) > MAX_PATH_BYTES
    ? `${quoted(path)} is a ${kind} whose target is too long or contains invalid characters`
    : null
}

/** Message for a link that points out of the tree, often a lockfile linked to the root of a monorepo. */
export function escapingLink(path: string, kind: 'link' | 'hard link', target: string): string {
  const problem = `${quoted(path)} is a ${kind} to ${quoted(target)}, outside of the squid’s folder`
  return LOCKFILES.has(posix.basename(path))
    ? `${problem}: the archive contains the link, not the lockfile. Put the lockfile itself into the squid’s folder`
    : `${problem}. Put the file itself there instead`
}

const LOCKFILES = new Set(['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock'])

/**
 * Resolves a link, following the other links of the tree (`links`: path → target). Null when it leaves the tree or is
 * cyclic. Missing components are taken literally.
 */
export function resolveLink(links: ReadonlyMap<string, string>, path: string): string | null {
  const done: string[] = []
  const todo = plainPath(path).split('/')
  for (let hops = 0; todo.length > 0;) {
    const part = todo.shift()
    if (part === undefined || part === '' || part === '.') {
      continue
    }
    if (part === '..') {
      if (done.pop() === undefined) {
        return null
      }
      continue
    }
    done.push(part)
    const target = links.get(done.join('/'))
    if (target !== undefined) {
      hops += 1
      if (hops > 40 || isAbsolute(target)) {
        return null
      }
      done.pop()
      todo.unshift(...target.split('/'))
    }
  }
  return done.join('/')
}

/** Absolute on any operating system. */
export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || path.startsWith('\\') || /^[A-Za-z]:[\\/]/.test(path)
}

/** Quoted and truncated, with control characters escaped. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
}

function hasInvalidCharacters(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are to be detected
  return /[\u0000-\u001f\u007f\\\ufffd]/.test(text)
}

function entryTypeName(type: string): string {
  const words: Partial<Record<string, string>> = {
    CharacterDevice: 'device',
    BlockDevice: 'device',
    FIFO: 'named pipe',
  }
  return words[type] ?? `“${type}”`
}
