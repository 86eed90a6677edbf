import { expect, test } from 'vitest'
import { countFences, pagesWithCommands, siteBlocks, sitePages } from '../e2e/support/site-blocks.ts'
import { parseManifest, parsePlan } from '../server/src/modules/manifest/index.ts'

const blocks = siteBlocks()
const place = ({ page, line }: (typeof blocks)[number]) => `${page}:${line}`

test('every code block of the documentation is marked for execution, as a manifest, or with the reason for skipping it', () => {
  const isKnown = ({ language, use, reason }: (typeof blocks)[number]) =>
    (language === 'sh' && (use === 'run' || (use === 'skip' && reason.length > 10))) ||
    (language === 'yaml' && (use === 'manifest' || use === 'deploy'))
  expect(blocks.length).toBeGreaterThan(20)
  expect(blocks.filter((block) => !isKnown(block)).map(place)).toEqual([])
})

test.each(sitePages())('these tests find every code block of %s', (page) => {
  expect(blocks.filter((block) => block.page === page).length * 2).toBe(countFences(page))
})

test('the commands of all pages are executed, except the installation of the client', () => {
  const pagesWith = (use: string) => blocks.filter((block) => block.use === use).map(({ page }) => page)
  expect([...new Set(pagesWith('run'))].sort()).toEqual([...pagesWithCommands].sort())
  expect(pagesWith('skip')).toEqual(['cli.md', 'index.md'])
  const skipped = blocks.filter(({ use }) => use === 'skip').map(({ text }) => text.trim())
  expect(new Set(skipped)).toEqual(new Set(['npm i -g @subsquid/cli@3.2.3 joi@17.13.3']))
})

test.each(blocks.filter(({ language }) => language === 'yaml').map((block) => [place(block), block] as const))(
  '%s is a valid manifest',
  (_, { use, text }) => {
    const isWhole = use === 'manifest'
    const raw = isWhole ? text : `manifest_version: subsquid.io/v0.1\nname: example\n${section(text)}`
    expect(parsePlan(parseManifest(raw)).processors.length).toBeGreaterThan(0)
  },
)

const section = (text: string) => `deploy:\n${text.replaceAll(/^/gm, '  ')}`
