import type { Repo, Rule, SourceFile } from './repo.ts'

/** True for generated files, and for examples, which follow the conventions of the SDK. */
const isExempt = (path: string) => /^examples\/|^server\/migrations\/|\.gen\.ts$/.test(path)

function sources(repo: Repo): SourceFile[] {
  return repo.files.filter(({ path }) => /\.(ts|tsx|mjs)$/.test(path) && !isExempt(path))
}

function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}

export const fileRules: Rule[] = [
  {
    title: 'no file has more than 250 lines, no test more than 600',
    why: 'a file is a concept; a larger one hides several',
    fix: 'split it by concept',
    find: (repo) =>
      sources(repo).flatMap(({ path, text, isTest }) => {
        const lines = lineCount(text)
        return lines > (isTest ? 600 : 250) ? [`${path} has ${lines} lines`] : []
      }),
    broken: { 'server/src/a.ts': 'export {}\n'.repeat(251), 'e2e/b.test.ts': 'export {}\n'.repeat(601) },
  },
  {
    title: 'server/src has at most eight files outside its folders',
    why: 'folder names describe where a thing is',
    fix: 'move files to the folder of their concept',
    find: (repo) => {
      const loose = sources(repo).filter(({ path, isTest }) => /^server\/src\/[^/]+$/.test(path) && !isTest)
      return loose.length > 8 ? [loose.map(({ path }) => path).join(', ')] : []
    },
    broken: Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`server/src/${'a'.repeat(index + 1)}.ts`, ''])),
  },
  {
    title: 'a page or tab of the console that consists of one list has at most 40 lines',
    why: 'a list is columns, a query and a text for the empty list; QueryTable, ListPage and OperatorList do the rest',
    fix: 'move the columns and the query to their own files, and what several lists need to QueryTable',
    find: (repo) =>
      sources(repo).flatMap(({ path, text, code }) => {
        const isList =
          path.startsWith('console/src/pages/') &&
          (/<(ListPage|OperatorList)\b/.test(code) || (path.endsWith('Tab.tsx') && code.includes('<QueryTable')))
        const lines = lineCount(text)
        return isList && lines > 40 ? [`${path} has ${lines} lines`] : []
      }),
    broken: Object.fromEntries(
      ['QueryTable', 'ListPage', 'OperatorList'].map((part) => [
        `console/src/pages/a/${part}Tab.tsx`,
        `export const A = () => <${part} />\n${'// \n'.repeat(40)}`,
      ]),
    ),
  },
  {
    title: 'no file or folder is called utils, helpers, common, shared or misc',
    why: 'such a name describes nothing, so unrelated code accumulates there',
    fix: 'name it after its concept',
    find: (repo) =>
      repo.files
        .map(({ path }) => path)
        .filter((path) => !isExempt(path) && /(^|[/.-])(utils?|helpers?|common|shared|misc)(?=[/.-])/.test(path)),
    broken: { 'console/src/lib/date-utils.ts': '', 'server/src/common/a.ts': '' },
  },
  {
    title: 'only contract/src/index.ts has `export *`',
    why: 'elsewhere it hides the exports of a file, and dead code with them',
    fix: 'list the exported names',
    find: (repo) =>
      sources(repo)
        .filter(({ path, code }) => path !== 'contract/src/index.ts' && /^export \*/m.test(code))
        .map(({ path }) => path),
    broken: { 'runtime/src/index.ts': `export * from './driver.ts'` },
  },
  {
    title: 'default exports are only for modules that are loaded lazily or by tools',
    why: 'a named export has the same name everywhere and can be searched for',
    fix: 'use a named export, or load the module lazily',
    find: (repo) => {
      const imports = repo.files.flatMap((file) => file.imports)
      const lazy = new Set(imports.filter(({ isLazy }) => isLazy).map(({ target }) => target))
      return sources(repo)
        .filter(({ path, code }) => /^export default\b|\bas default\b/m.test(code) && !lazy.has(path))
        .map(({ path }) => path)
        .filter(
          (path) =>
            !/\.config\.ts$|^site\/\.vitepress\/(config|theme\/index)\.ts$|\/global-setup\.ts$|-reporter\.ts$/.test(
              path,
            ),
        )
    },
    broken: { 'console/src/ui/Button.tsx': 'export default function Button() {}' },
  },
]
