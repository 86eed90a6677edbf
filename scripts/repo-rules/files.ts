import type { Repo, Rule, SourceFile } from './repo.ts'

const isGenerated = (path: string) => /^examples\/|^server\/migrations\/|\.gen\.ts$/.test(path)

function sources(repo: Repo): SourceFile[] {
  return repo.files.filter(({ path }) => /\.(ts|tsx|mjs)$/.test(path) && !isGenerated(path))
}

function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

export const fileRules: Rule[] = [
  {
    says: 'no file has more than 400 lines, no test more than 600',
    why: 'a large file hides several things; the aim is 60 to 150 lines',
    fix: 'split it by what its parts are about',
    find: (repo) =>
      sources(repo).flatMap(({ path, text, isTest }) => {
        const lines = lineCount(text)
        return lines > (isTest ? 600 : 400) ? [`${path} has ${lines} lines`] : []
      }),
    broken: { 'server/src/a.ts': 'export {}\n'.repeat(401), 'e2e/b.test.ts': 'export {}\n'.repeat(601) },
  },
  {
    says: 'no file or folder is called utils, helpers, common, shared or misc',
    why: 'such a name says nothing, so anything gathers there',
    fix: 'name it after what it is about',
    find: (repo) =>
      repo.files
        .map(({ path }) => path)
        .filter((path) => !isGenerated(path) && /(^|[/.-])(utils?|helpers?|common|shared|misc)(?=[/.-])/.test(path)),
    broken: { 'console/src/lib/date-utils.ts': '', 'server/src/common/a.ts': '' },
  },
  {
    says: '`export *` stands in contract/src/index.ts only',
    why: 'elsewhere it hides what a file offers, and dead code with it',
    fix: 'name what is exported',
    find: (repo) =>
      sources(repo)
        .filter(({ path, code }) => path !== 'contract/src/index.ts' && /^export \*/m.test(code))
        .map(({ path }) => path),
    broken: { 'runtime/src/index.ts': `export * from './driver.ts'` },
  },
  {
    says: 'default exports are for what is loaded lazily and for what tools load',
    why: 'a named export has one name everywhere and is found by it',
    fix: 'export it by name, or load it lazily if that was the point',
    find: (repo) => {
      const imports = repo.files.flatMap((file) => file.imports)
      const lazy = new Set(imports.filter(({ isLazy }) => isLazy).map(({ target }) => target))
      return sources(repo)
        .filter(({ path, code }) => /^export default\b|\bas default\b/m.test(code) && !lazy.has(path))
        .map(({ path }) => path)
        .filter((path) => !/\.config\.ts$|\/global-setup\.ts$|-reporter\.ts$/.test(path))
    },
    broken: { 'console/src/ui/Button.tsx': 'export default function Button() {}' },
  },
]
