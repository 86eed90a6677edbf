import type { Squid } from '@shoal/contract'
import { expect, test } from 'vitest'
import { formatDateTime } from '../../lib/format.ts'
import { endpointOf } from './endpoint-of.ts'
import { statusReason } from './status-reason.ts'

const processor = {
  name: 'eth',
  status: 'SYNCED',
  syncState: { currentBlock: 9, totalBlocks: 9 },
  metrics: '',
  blocksPerSecond: null,
  etaSeconds: null,
  progressedAt: null,
  restarts: 0,
  lag: null,
  reason: null,
  since: null,
} as const
const healthy = {
  status: 'DEPLOYED',
  processors: [processor],
  addons: {},
  lastDeploy: { id: 7, type: 'RESTART', status: 'OK', failed: 'NO', running: false },
} as unknown as Squid

test('the reason for a status lists its causes, and since when the first of them has been known', () => {
  expect(statusReason(healthy)).toMatch(/at the head/)
  const stuck = {
    ...processor,
    status: 'STUCK',
    reason: 'It ran out of memory.',
    since: '2026-01-16T12:00:00Z',
  } as const
  const down = { status: 'NOT_AVAILABLE', urls: [], reason: null, since: '2026-01-15T12:00:00Z' } as const
  expect(statusReason({ ...healthy, processors: [processor, stuck], api: { ...down, urls: [] } })).toBe(
    `API: no response.\neth: It ran out of memory.\nSince ${formatDateTime('2026-01-15T12:00:00Z')}.`,
  )
  expect(statusReason({ ...healthy, addons: { hasura: { status: 'NOT_AVAILABLE' } } })).toBe('Hasura: no response.')
  expect(statusReason({ ...healthy, processors: [{ ...processor, status: 'SYNCING' }] })).toBe('eth: syncing.')
  expect(statusReason({ ...healthy, api: { ...down, urls: [], isStarting: true } })).toBe(
    `API: starting.\nSince ${formatDateTime('2026-01-15T12:00:00Z')}.`,
  )
  expect(statusReason({ ...healthy, status: 'DEPLOYING' })).toBe('Deployment 7 is restarting the version.')
  expect(statusReason({ ...healthy, status: 'HIBERNATED', hibernatedAt: null })).toBe('Hibernated. Data is kept.')
})

test('the endpoint is the URL of the production tag, otherwise of any tag, otherwise of the slot', () => {
  const tag = (name: string) => ({ type: 'tag' as const, name, url: name })
  const canonical = { type: 'canonical' as const, url: 'slot' }
  const endpointFrom = (...urls: NonNullable<Squid['api']>['urls']) =>
    endpointOf({ api: { status: 'AVAILABLE', urls, reason: null, since: null } })
  expect(endpointFrom(tag('old'), tag('production'), canonical)).toBe('production')
  expect(endpointFrom(tag('old'), canonical)).toBe('old')
  expect(endpointFrom(canonical)).toBe('slot')
  expect(endpointOf({})).toBeNull()
})
