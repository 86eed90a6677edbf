import { posix } from 'node:path'

/** The header of an archive entry. */
export type ArchiveEntry = {
  path: string
  /** Type name of the `tar` package. */
  type: string
  linkpath?: string | undefined
}

const MAX_NAME_BYTES = 255
const MAX_PATH_BYTES = 1024
const MAX_DEPTH = 64
/** The maximum number of links in a path. Linux has the same limit. */
const MAX_LINKS = 40
const FILE_TYPES = new Set(['File', 'OldFile', 'ContiguousFile'])
const LINK_TYPES = new Set(['Link', 'SymbolicLink'])

/** Removes `./`, double and trailing slashes from a path; returns an empty string for the root of the archive. */
export function normalizedPath(path: string): string {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  return parts.join('/')
}

/** Returns why an entry must not be unpacked, as a sentence for the user; null if it may be. Checks only the entry's header. */
export function rejectionReason(entry: ArchiveEntry): string | null {
  const name = quoted(entry.path)
  const badPath = pathRejectionReason(entry.path)
  if (badPath !== null) {
    return `${name} ${badPath}`
  }
  const path = normalizedPath(entry.path)
  if (path === '') {
    return entry.type === 'Directory' ? null : 'The root of the archive is not a folder'
  }
  if (entry.type === 'Directory' || FILE_TYPES.has(entry.type)) {
    return null
  }
  if (!LINK_TYPES.has(entry.type)) {
    return `${name} is a ${entryTypeName(entry.type)}; a squid may contain only files, folders and links`
  }
  return linkRejectionReason(path, entry.type === 'Link' ? 'hard link' : 'link', entry.linkpath ?? '')
}

function pathRejectionReason(path: string): string | null {
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
  if (DIRECTION_CHARACTERS.test(path)) {
    return 'has a name with a character that reverses text, so that it looks like another name; rename it'
  }
  if (hasInvalidCharacters(path)) {
    return 'has a name with control characters, a backslash or bytes that are not UTF-8; rename it'
  }
  return null
}

function linkRejectionReason(path: string, kind: 'link' | 'hard link', target: string): string | null {
  const from = kind === 'link' ? posix.dirname(path) : '.'
  const isOutside = isAbsolute(target) || posix.normalize(posix.join(from, target)).split('/')[0] === '..'
  if (isOutside) {
    return escapingLink(path, kind, target)
  }
  return hasInvalidCharacters(target) || Buffer.byteLength(target) > MAX_PATH_BYTES
    ? `${quoted(path)} is a ${kind} whose target is too long or contains invalid characters`
    : null
}

/** Returns the message for a link to a target outside of the tree, often a lockfile linked to the root of a monorepo. */
export function escapingLink(path: string, kind: 'link' | 'hard link', target: string): string {
  const problem = `${quoted(path)} is a ${kind} to ${quoted(target)}, outside of the squid’s folder`
  return LOCKFILES.has(posix.basename(path))
    ? `${problem}: the archive contains the link, not the lockfile. Put the lockfile itself into the squid’s folder`
    : `${problem}. Put the file itself there instead`
}

const LOCKFILES = new Set(['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml', 'yarn.lock'])

/**
 * Resolves a path that may contain links of the tree (`links`: path → target). Returns the path without links, relative to the tree;
 * null when it leaves the tree or a link is cyclic. Does not require the components to exist.
 */
export function resolveLink(links: ReadonlyMap<string, string>, path: string): string | null {
  const resolved: string[] = []
  const remaining = normalizedPath(path).split('/')
  for (let hops = 0; remaining.length > 0;) {
    const part = remaining.shift()
    if (part === undefined || part === '' || part === '.') {
      continue
    }
    if (part === '..') {
      if (resolved.pop() === undefined) {
        return null
      }
      continue
    }
    resolved.push(part)
    const target = links.get(resolved.join('/'))
    if (target !== undefined) {
      hops += 1
      if (hops > MAX_LINKS || isAbsolute(target)) {
        return null
      }
      resolved.pop()
      remaining.unshift(...target.split('/'))
    }
  }
  return resolved.join('/')
}

/** True for a path that is absolute on any operating system. */
export function isAbsolute(path: string): boolean {
  return path.startsWith('/') || path.startsWith('\\') || /^[A-Za-z]:[\\/]/.test(path)
}

/** Quotes and truncates a text for a message, and escapes characters that are invisible or change the direction of text. */
export function quoted(text: string): string {
  const json = JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)
  return json.replace(INVISIBLE_CHARACTERS, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** The marks, embeddings, overrides and isolates of Unicode's bidirectional algorithm. */
const DIRECTION_CHARACTERS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const INVISIBLE_CHARACTERS = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

function hasInvalidCharacters(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- detects control characters
  return /[\u0000-\u001f\u007f-\u009f\u2028\u2029\\\ufffd]/.test(text) || DIRECTION_CHARACTERS.test(text)
}

function entryTypeName(type: string): string {
  const words: Partial<Record<string, string>> = {
    CharacterDevice: 'device',
    BlockDevice: 'device',
    FIFO: 'named pipe',
    SparseFile: 'sparse file',
  }
  return words[type] ?? `“${type}”`
}
