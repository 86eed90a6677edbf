import { lstat, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { BuildFailure } from '../builder.ts'
import { isAbsolute, normalizedPath, quoted } from './archive-rules.ts'

const MAX_TEXT_BYTES = 1024 * 1024
/** Deeper than any real file, and shallow enough for recursive code. */
const MAX_JSON_DEPTH = 500

/**
 * Finds the manifest that the user's `-m` argument names: a path in the tree, or a path on the user's machine. In the second case, the
 * longest suffix of the path that exists in the tree is used.
 * @throws BuildFailure REQUIRED_SOURCE_FILE_MISSED, which names the file
 */
export async function findManifest(root: string, manifestPath: string): Promise<{ path: string; raw: string }> {
  const requested = manifestPath.trim() === '' ? 'squid.yaml' : manifestPath.trim()
  for (const path of candidatePaths(requested)) {
    const raw = await readTextFile(root, path)
    if (raw !== null) {
      return { path, raw }
    }
  }
  throw new BuildFailure(
    'REQUIRED_SOURCE_FILE_MISSED',
    `The manifest ${quoted(requested)} is not in the archive. Check the path given with -m, and that .squidignore does not exclude it.`,
  )
}

/** Returns the possible paths in the tree for a requested path, in order of precedence. */
function candidatePaths(requested: string): string[] {
  const path = requested.replaceAll('\\', '/')
  const parts = normalizedPath(path.replace(/^[A-Za-z]:/, '')).split('/')
  const isInTree = !isAbsolute(requested) && !parts.includes('..')
  if (isInTree) {
    return [parts.join('/')]
  }
  const fromLastParent = parts.slice(parts.lastIndexOf('..') + 1)
  return fromLastParent.map((_, index) => fromLastParent.slice(index).join('/'))
}

/**
 * Reads the `package.json` of the tree; null when it is missing.
 * @throws BuildFailure REQUIRED_SOURCE_FILE_INVALID
 */
export async function readPackageJson(root: string): Promise<Record<string, unknown> | null> {
  const raw = await readTextFile(root, 'package.json')
  if (raw === null) {
    return null
  }
  const parsed = parseJson(raw)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new BuildFailure('REQUIRED_SOURCE_FILE_INVALID', 'package.json must contain a JSON object.')
  }
  if (isDeeperThan(parsed, MAX_JSON_DEPTH)) {
    throw new BuildFailure(
      'REQUIRED_SOURCE_FILE_INVALID',
      `package.json is nested more than ${MAX_JSON_DEPTH} levels deep.`,
    )
  }
  return { ...parsed }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) {
    return false
  }
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(item, levels - 1))
}

function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw.replace(/^\ufeff/, ''))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new BuildFailure('REQUIRED_SOURCE_FILE_INVALID', `package.json is not valid JSON: ${reason}.`)
  }
}

/**
 * Reads a text file of the tree; null when it is missing. Follows links only within the tree.
 * @throws BuildFailure REQUIRED_SOURCE_FILE_INVALID when it is larger than `maxBytes`
 */
export async function readTextFile(root: string, path: string, maxBytes = MAX_TEXT_BYTES): Promise<string | null> {
  const real = await realpath(join(root, path)).catch(() => null)
  if (real === null || !real.startsWith(`${await realpath(root)}/`)) {
    return null
  }
  const stats = await lstat(real)
  if (!stats.isFile()) {
    return null
  }
  if (stats.size > maxBytes) {
    const limitMb = Math.round(maxBytes / 1e6)
    throw new BuildFailure('REQUIRED_SOURCE_FILE_INVALID', `${quoted(path)} is larger than ${limitMb} MB.`)
  }
  return await readFile(real, 'utf8')
}
