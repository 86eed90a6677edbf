import type { SquidSummary } from '@shoal/contract'
import { expect, test } from 'vitest'
import { weekOfRequests } from './daily-requests.ts'
import { filterSquids, nameMatcher, tagsOf } from './filter-squids.ts'
import { remainingWarning, remainingSquids, summaryOf, deployDisabledReason } from './squids-left.ts'

const squid = (reference: string, status: SquidSummary['status'], ...tags: string[]) =>
  ({ reference, status, addons: {}, processors: [], tags: tags.map((name) => ({ name })) }) as unknown as SquidSummary

const all = [
  squid('erc20@v1', 'DEPLOYED', 'production', 'v2'),
  squid('erc20@v2', 'HIBERNATED', 'staging'),
  squid('nft.floor@v1', 'DEPLOYING', 'production'),
]
const names = (search: string, status: string[] = [], tag: string[] = []) =>
  filterSquids(all, { search, status, tag }).map(({ reference }) => reference)

test('the search is a case-insensitive pattern that is matched against the full name', () => {
  expect(names('^ERC20@v[12]$')).toEqual(['erc20@v1', 'erc20@v2'])
  expect(names(' floor ')).toEqual(['nft.floor@v1'])
  expect(names('')).toHaveLength(3)
})

test('an invalid pattern is matched literally', () => {
  expect(nameMatcher('a(b')('xA(B)')).toBe(true)
  expect(nameMatcher('[')('erc20@v1')).toBe(false)
})

test('filters match any of the statuses and all of the tags', () => {
  expect(names('', ['HIBERNATED', 'DEPLOYING'])).toEqual(['erc20@v2', 'nft.floor@v1'])
  expect(names('', [], ['production'])).toEqual(['erc20@v1', 'nft.floor@v1'])
  expect(names('', [], ['production', 'v2'])).toEqual(['erc20@v1'])
  expect(names('erc', ['HEALTHY'], ['staging'])).toEqual([])
  expect(tagsOf(all)).toEqual(['production', 'staging', 'v2'])
})

test('valid and failed requests of a day are added; days before the last seven are omitted', () => {
  const now = Date.parse('2026-11-21T00:00:01Z')
  const count = (time: string, squidId: number, res: 'success' | 'error', value: string) => ({
    time: `${time}T00:00:00.000Z`,
    squidId,
    res,
    count: value,
  })
  const week = weekOfRequests(
    [
      count('2026-11-21', 1, 'success', '5'),
      count('2026-11-21', 1, 'error', '2'),
      count('2026-11-15', 1, 'success', '10'),
      count('2026-11-14', 1, 'success', '99'),
      count('2026-11-20', 2, 'error', '1'),
    ],
    now,
  )
  expect(week.requestsOf(1)).toEqual({ days: [10, 0, 0, 0, 0, 0, 7], total: 17 })
  expect(week.requestsOf(2).days).toEqual([0, 0, 0, 0, 0, 1, 0])
  expect(week.requestsOf(3)).toEqual({ days: [0, 0, 0, 0, 0, 0, 0], total: 0 })
  expect(week.dayStartsMs.map((ms) => new Date(ms).getUTCDate())).toEqual([15, 16, 17, 18, 19, 20, 21])
})

test('a warning appears below three remaining squids, and deploying is disabled at zero', () => {
  const org = (squids: number, playground = false) => ({ limits: { squids, playground } })
  expect([remainingSquids(org(10), 4), remainingSquids(org(3), 5)]).toEqual([6, 0])
  expect(remainingWarning(org(10), 3)).toBeNull()
  expect(remainingWarning(org(10), 2)).toBe('Only 2 squids are left in this organization.')
  expect(remainingWarning(org(1, true), 1)).toBe('Only 1 squid is left in your playground.')
  expect(remainingWarning(org(1, true), 0)).toMatch(/^No squids are left in your playground/)
  expect(deployDisabledReason(org(10), 0, null)).toMatch(/^The organization .*Delete a version first/)
  expect(deployDisabledReason(org(10, true), 0, null)).toMatch(/^Your playground .*Delete a version first/)
  expect(deployDisabledReason(org(10), 4, 'no permission')).toBeNull()
  expect(deployDisabledReason(org(10, true), 4, 'no permission')).toBe('no permission')
  const versions = [{ name: 'a' }, { name: 'a' }, { name: 'b' }]
  expect(summaryOf(org(100), versions, 97)).toBe('3 versions of 2 squids · 97 left in this organization')
  expect(summaryOf(org(1, true), [{ name: 'a' }], 0)).toBe('1 version of 1 squid · 0 left in this playground')
})
