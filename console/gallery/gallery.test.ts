import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

const console = join(import.meta.dirname, '..')

/** Parts that call the API. `npm run screens` takes screenshots of the pages that contain them. */
const onlyOnPages = [
  'components/DialogHost.tsx',
  'components/InviteForm.tsx',
  'components/LazyDialog.tsx',
  'components/OutboxHint.tsx',
  'components/access.tsx',
  'components/cost/',
  'components/deploy-guide/',
  'components/squid/',
]

/** All files that the module imports, directly, through others or lazily. */
function importsOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  const paths = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.{1,2}\/[^']+\.tsx?)'/g)
  for (const [, path = ''] of paths) importsOf(join(dirname(file), path), seen)
  return seen
}

test('the gallery shows every part, apart from those that need the API', () => {
  const shown = importsOf(join(import.meta.dirname, 'main.tsx'))
  const parts = globSync(['src/ui/*.tsx', 'src/components/**/*.tsx'], { cwd: console })
  const missing = parts.filter((part) => !shown.has(join(console, part))).map((part) => relative('src', part))
  expect(missing.filter((part) => !onlyOnPages.some((path) => part.startsWith(path)))).toEqual([])
})
