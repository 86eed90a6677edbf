import type { Squid } from '@shoal/contract'
import { expect, test } from 'vitest'
import { urlGroups } from './general/urls.ts'
import { matchesIn, nodeIndexAt } from './files/use-match-highlights.ts'
import { tagsOfOtherVersions } from './tags-of-other-versions.ts'
import { versionTabs } from './tabs.ts'

const postgres: NonNullable<Squid['addons']['postgres']> = {
  connections: [],
  disk: { usageStatus: 'LOW', usedBytes: 1, totalBytes: 9 },
  version: '16',
  profile: 'small',
}
const running = { status: 'DEPLOYED', addons: { postgres }, image: 'one:1' } as const
const disabledTabs = (squid: Parameters<typeof versionTabs>[0]) =>
  versionTabs(squid).flatMap(({ label, disabledReason }) => (disabledReason === null ? [] : [label]))

test('all tabs of a running version are enabled', () => {
  expect(versionTabs(running).map(({ label }) => label)).toEqual([
    'General',
    'Details',
    'Processors',
    'Logs',
    'Metrics',
    'Deployments',
    'DB access',
    'Manifest',
    'Package.json',
  ])
  expect(disabledTabs(running)).toEqual([])
  expect(
    versionTabs(running)
      .filter((tab) => tab.isHiddenWhenNarrow)
      .map(({ label }) => label),
  ).toEqual(['Logs'])
})

test('while a version is hibernated, only General, Deployments and the file tabs are enabled', () => {
  expect(disabledTabs({ ...running, status: 'HIBERNATED' })).toEqual([
    'Details',
    'Processors',
    'Logs',
    'Metrics',
    'DB access',
  ])
})

test('a version without a database has no DB access tab, and the file tabs are disabled until the first build', () => {
  const unbuilt = { ...running, addons: {}, image: null }
  expect(versionTabs(unbuilt).map(({ label }) => label)).not.toContain('DB access')
  expect(versionTabs({ ...unbuilt, addons: { neon: { connections: [] } } }).map(({ label }) => label)).toContain(
    'DB access',
  )
  expect(disabledTabs(unbuilt)).toEqual(['Manifest', 'Package.json'])
})

test("URLs are grouped by type, and canonical URLs are marked immutable only from version 4 of the manifest's spec on", () => {
  const urls = [
    { url: 'https://x/one:prod/api/graphql', type: 'tag', name: 'prod' },
    { url: 'https://x/one/graphql', type: 'prod_alias' },
    { url: 'https://x/one@v1/api/graphql', type: 'canonical' },
  ] satisfies NonNullable<Squid['api']>['urls']
  const api = {
    status: 'AVAILABLE',
    urls,
    replicas: 1,
    profile: 'small',
    reason: null,
    since: null,
  } satisfies Squid['api']
  const groups = urlGroups({ spec: 4, api, addons: {} })
  expect(groups.map(({ title }) => title)).toEqual(['Tag URLs', 'Production URL', 'Canonical URL'])
  expect(groups[1]?.note).toMatch(/^Deprecated/)
  expect(groups[2]?.note).toMatch(/^Immutable/)
  expect(urlGroups({ spec: 3, api, addons: {} })[2]?.note).toBeUndefined()
  expect(urlGroups({ spec: 4, addons: {} })).toEqual([])
  const hasura = { ...api, urls: [{ url: 'https://x/one@v1/hasura', type: 'canonical' as const }] }
  expect(urlGroups({ spec: 4, addons: { hasura } })).toMatchObject([{ title: 'Canonical URL', urls: hasura.urls }])
})

test('the tags of other versions of the squid are mapped to these versions', () => {
  const version = (id: number, slot: string, ...tags: string[]): Pick<Squid, 'id' | 'name' | 'reference' | 'tags'> => ({
    id,
    name: 'one',
    reference: `one@${slot}`,
    tags: tags.map((name) => ({ name })),
  })
  const all = [
    version(1, 'v1', 'own'),
    version(2, 'v2', 'production', 'old'),
    { ...version(3, 'v3', 'x'), name: 'two' },
  ]
  expect([...tagsOfOtherVersions(all, { id: 1, name: 'one' })]).toEqual([
    ['production', 'one@v2'],
    ['old', 'one@v2'],
  ])
})

test('a search ignores case, and the text node of each match is found', () => {
  expect(matchesIn('Name: one\nname: two', 'NAME')).toEqual([0, 10])
  expect(matchesIn('aaa', 'aa')).toEqual([0])
  expect(matchesIn('anything', '')).toEqual([])
  // In lower case, this letter has two code units.
  expect(matchesIn('İ one İ', 'ONE')).toEqual([2])
  expect(matchesIn('an İ', 'İ')).toEqual([3])
  expect(matchesIn('🐟 Ab', 'ab')).toEqual([3])
  const textNodes = [
    { start: 0, length: 5 },
    { start: 5, length: 1 },
    { start: 6, length: 9 },
  ]
  expect([0, 4, 5, 6, 14].map((offset) => nodeIndexAt(textNodes, offset))).toEqual([0, 0, 1, 2, 2])
})
