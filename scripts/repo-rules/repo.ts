import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

export type SourceFile = {
  /** The path relative to the repository's folder. */
  path: string
  text: string
  /** The text without its comments. */
  code: string
  imports: Import[]
  isTest: boolean
}

export type Import = {
  specifier: string
  /** The path of a relative import in the repository; null for a package. */
  target: string | null
  /** True for a dynamic `import('…')`. */
  isLazy: boolean
}

export type Repo = { files: SourceFile[]; exists(path: string): boolean }

/** A rule of the repository. `find` returns its violations. Each file in `broken` is an example that violates the rule. */
export type Rule = {
  title: string
  why: string
  fix: string
  find(repo: Repo): string[]
  broken: Record<string, string>
  /** Valid files on which the examples in `broken` depend. */
  sample?: Record<string, string>
}

const importPattern =
  /(?:^|[\n;])\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|\bimport\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
}

function sourceFile(path: string, text: string): SourceFile {
  const isCode = /\.(ts|tsx|mjs|js)$/.test(path)
  const code = isCode ? withoutComments(text) : ''
  const imports = [...code.matchAll(importPattern)].map(([, from, bare, lazy]) => {
    const specifier = from ?? bare ?? lazy ?? ''
    const target = specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : null
    return { specifier, target, isLazy: lazy !== undefined }
  })
  return { path, text, code, imports, isTest: /\.test\.tsx?$|-(suite|harness)\.ts$|(^|\/)testing\/|^e2e\//.test(path) }
}

/** Reads all text files of the repository at `root`, except those that git ignores. */
export function readRepo(root: string): Repo {
  const list = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const paths = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0')
  // A deleted file remains in git's list until the deletion is staged.
  const isFile = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true
  const files = [...new Set(paths)]
    .filter((path) => path !== '' && isFile(path))
    .map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')))
  return {
    files: files.filter(({ text }) => !text.includes('\0')),
    exists: (path) => statSync(join(root, path), { throwIfNoEntry: false }) !== undefined,
  }
}

/** Returns a repository in memory, for tests of rules. */
export function repoOf(files: Record<string, string>): Repo {
  const paths = Object.keys(files)
  return {
    files: paths.map((path) => sourceFile(path, files[path] ?? '')),
    exists: (path) => paths.some((existing) => existing === path || existing.startsWith(`${path}/`)),
  }
}
