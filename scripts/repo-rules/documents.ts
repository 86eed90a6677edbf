import { dirname, join, normalize } from 'node:path'
import { operateDoc } from '../../server/src/config/operate-doc.ts'
import type { Repo, Rule, SourceFile } from './repo.ts'

const roots = 'contract|runtime|server|console|e2e|examples|docs|scripts|test|\\.ci'
const inBackticks = new RegExp(`\`((?:${roots})/[^\`\\s]*)\``, 'g')
const inLinks = /\]\((?![a-z]+:|#)([^)#\s]+)/g

/** True for a path with a placeholder (`NNNN`, `<area>`, `*`, `{a,b}`, `…`), which matches several files. */
const isPattern = (path: string) => /[<>*{}…]|NNNN|\.\.\.|\$/.test(path)

function pathsNamedIn({ path, text }: SourceFile): string[] {
  const quoted = [...text.matchAll(inBackticks)].map(([, named = '']) => named)
  // In the documentation site, such paths are addresses of pages, which its build checks.
  const links = path.startsWith('site/pages/') ? [] : [...text.matchAll(inLinks)]
  const linked = links.map(([, named = '']) => normalize(join(dirname(path), named)))
  return [...quoted, ...linked].filter((named) => !isPattern(named)).map((named) => named.replace(/(:\d+)?\/?$/, ''))
}

const coverage = 'docs/spec-coverage.md'

/** The sections of the specification. Each must have a test. */
const specSections = '1 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9 2.10 2.11 2.12 3 4 5 6 7 8 9'.split(' ')

/** Returns the sections without an existing test. A row of the table looks like `| 2.1 … | … path/of/a.test.ts … |`. */
function uncoveredSections(repo: Repo): string[] {
  const page = repo.files.find(({ path }) => path === coverage)
  if (!page) return []
  const rows = page.text.split('\n').filter((line) => /^\|\s*\d/.test(line))
  return specSections.flatMap((section) => {
    const sectionRows = rows.filter((row) => new RegExp(`^\\|\\s*${section.replace('.', '\\.')}[\\s|]`).test(row))
    const tests = sectionRows.flatMap((row) => row.match(/[\w./-]+\.test\.tsx?/g) ?? [])
    // A row with `open` is a section that Shoal does not implement yet.
    if (tests.length === 0 && sectionRows.some((row) => /\|\s*open\b/.test(row))) return []
    if (tests.length === 0) return [`${coverage}: section ${section} has no test`]
    return tests
      .filter((test) => !repo.exists(test))
      .map((test) => `${coverage}: section ${section} names ${test}, which does not exist`)
  })
}

const operate = 'docs/operate.md'

export const documentRules: Rule[] = [
  {
    title: `${operate} matches the settings of the server`,
    why: 'operators rely on it instead of reading the code',
    fix: 'npm run check -- --write',
    find: (repo) => {
      const page = repo.files.find(({ path }) => path === operate)
      return page?.text === operateDoc() ? [] : [operate]
    },
    broken: { [operate]: '# Operating an earlier Shoal' },
  },
  {
    title: 'every path in a document exists',
    why: 'documents with outdated paths cannot be trusted',
    fix: 'update the path, or remove the sentence',
    find: (repo) =>
      repo.files
        .filter(({ path }) => path.endsWith('.md'))
        .flatMap((file) =>
          pathsNamedIn(file)
            .filter((named) => !repo.exists(named))
            .map((named) => `${file.path} names ${named}`),
        ),
    broken: { 'README.md': 'See `server/src/missing.ts` and [the docs](docs/missing.md).' },
  },
  {
    title: `${coverage} names an existing test for every section of the specification`,
    why: 'untested requirements break unnoticed',
    fix: 'write the test, and add its path to the row of the section: | 2.1 … | path/of/a.test.ts |',
    find: uncoveredSections,
    broken: { [coverage]: '| 1 What it is | e2e/missing.test.ts |\n| 2.1 Signed out | nothing yet |' },
  },
]
