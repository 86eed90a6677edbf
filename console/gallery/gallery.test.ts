import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const consoleFolder = join(import.meta.dirname, '..')

/** Components that call the API, which the gallery cannot, or that are whole pages. `npm run screens` takes screenshots of the pages. */
const onlyOnPages = [
  'components/DialogHost.tsx',
  'components/InviteForm.tsx',
  'components/LazyDialog.tsx',
  'components/OutboxHint.tsx',
  'components/access.tsx',
  'components/cost/',
  'components/data-table/ListPage.tsx',
  'components/deploy-guide/',
  'components/squid/',
]

/** The file, and all files that it imports, directly, indirectly or lazily. */
function importsOf(file: string, visited = new Set<string>()): Set<string> {
  if (visited.has(file)) return visited
  visited.add(file)
  const paths = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.{1,2}\/[^']+\.tsx?)'/g)
  for (const [, path = ''] of paths) importsOf(join(dirname(file), path), visited)
  return visited
}

test('the gallery shows every component, apart from those that need the API', () => {
  const importedFiles = importsOf(join(import.meta.dirname, 'main.tsx'))
  const components = globSync(['src/ui/*.tsx', 'src/components/**/*.tsx'], { cwd: consoleFolder })
  const missing = components
    .filter((path) => !importedFiles.has(join(consoleFolder, path)))
    .map((path) => relative('src', path))
  expect(missing.filter((path) => !onlyOnPages.some((prefix) => path.startsWith(prefix)))).toEqual([])
})
