import { expect, test } from 'vitest'
import { siteBlocks } from '../e2e/support/site-blocks.ts'
import { parseManifest, parsePlan } from '../server/src/modules/manifest/index.ts'

const blocks = siteBlocks()
const place = ({ page, line }: (typeof blocks)[number]) => `${page}:${line}`

test('every block of the documentation is marked: to be executed, to be checked as a manifest, or with a reason for neither', () => {
  const isKnown = ({ language, use, reason }: (typeof blocks)[number]) =>
    (language === 'sh' && (use === 'run' || (use === 'skip' && reason.length > 10))) ||
    (language === 'yaml' && (use === 'manifest' || use === 'deploy'))
  expect(blocks.length).toBeGreaterThan(20)
  expect(blocks.filter((block) => !isKnown(block)).map(place)).toEqual([])
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
