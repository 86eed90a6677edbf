import type { AlertEvent, Org, SquidSummary } from '@shoal/contract'
import { expect, test } from 'vitest'
import { attentionOf } from './attention.ts'

const org = { status: 'ACTIVE', limits: { squids: 3, playground: false } } as Org
const squid = {
  id: 7,
  name: 'transfers',
  slot: 'v1',
  status: 'DEPLOYED',
  addons: {},
  processors: [],
  lastDeploy: { id: 3, type: 'DEPLOY', status: 'OK', failed: 'NO', running: false },
} as unknown as SquidSummary
const failed = { ...squid.lastDeploy, failed: 'UNEXPECTED' } as SquidSummary['lastDeploy']
const alert = { id: 1, kind: 'STALLED', severity: 'WARNING', label: 'eth is stalled', squid } as unknown as AlertEvent
const processors = [
  { name: 'eth', status: 'SYNCING', syncState: { currentBlock: 25, totalBlocks: 100 }, etaSeconds: 120, reason: null },
] as SquidSummary['processors']

const labels = (...args: Parameters<typeof attentionOf>) => attentionOf(...args).map(({ label }) => label)

test('healthy versions of a paid organization need no attention', () =>
  expect(attentionOf(org, [], [squid])).toEqual([]))

test('items are sorted by severity, the most severe first', () => {
  const unpaid = { ...org, status: 'IN_DEBT' } as Org
  const squids = [
    { ...squid, processors },
    { ...squid, id: 8, lastDeploy: failed },
  ]
  expect(labels(unpaid, [alert], squids)).toEqual([
    'Payment is overdue',
    'Last deploy failed',
    'eth is stalled',
    'Not synced yet',
  ])
})

test('the item of a version whose processor crashed shows the cause instead of the sync', () => {
  const reason = 'It ended with exit code 1.'
  const crashed = [{ ...processors?.[0], status: 'STARTING', reason, since: null }] as SquidSummary['processors']
  expect(attentionOf(org, [], [{ ...squid, processors: crashed }])).toMatchObject([
    { label: 'Not indexing', tone: 'warn', detail: `eth: ${reason}` },
  ])
})

test('a degraded version is listed, unless it has an open alert, which is listed instead', () => {
  const stuck = [{ ...processors?.[0], status: 'STUCK', reason: 'It keeps crashing.', since: null }]
  const degraded = { ...squid, processors: stuck } as SquidSummary
  expect(attentionOf(org, [], [degraded])).toMatchObject([
    { label: 'Degraded', tone: 'bad', detail: 'eth: It keeps crashing.', page: 'version' },
  ])
  expect(labels(org, [alert], [degraded])).toEqual(['eth is stalled'])
})

test('a failed deployment and its alert are one item, which links to the log', () => {
  const deployFailed = { ...alert, kind: 'DEPLOY_FAILED' } as AlertEvent
  const items = attentionOf(org, [deployFailed], [{ ...squid, lastDeploy: failed }])
  expect(items).toMatchObject([{ page: 'deployment', deployId: 3 }])
  expect(labels(org, [deployFailed], [])).toEqual(['eth is stalled'])
})

test('the playground has no bills', () =>
  expect(labels({ status: 'IN_DEBT', limits: { squids: 1, playground: true } } as Org)).toEqual([]))
