import type { Deployment } from '@shoal/contract'
import { expect, test } from 'vitest'
import { failedFirstOf, failedFirsts } from './failed-firsts.ts'

const deployment = (id: number, reference: string, change: Partial<Deployment> = {}): Deployment => ({
  id,
  type: 'DEPLOY',
  status: 'IMAGE_BUILDING',
  failed: 'SOURCE_FILES_BUILD_FAILED',
  logs: [],
  steps: [],
  plan: [],
  failureReason: 'no',
  organization: { id: 1, code: 'acme', name: 'Acme' },
  user: null,
  squid: { id, name: reference, slot: 'v1', reference },
  options: { tag: null, hardReset: false },
  image: null,
  totalElapsedTimeMs: 1,
  createdAt: '2026-01-15T12:00:00Z',
  updatedAt: '2026-01-15T12:00:00Z',
  ...change,
})

test('a first deployment is shown while it is the last word on a version that does not exist', () => {
  const deployments = [
    deployment(5, 'again@v1', { failed: 'NO', status: 'UNPACKING' }),
    deployment(4, 'broken@v1'),
    deployment(3, 'gone@v1', { type: 'DELETE', failed: 'NO', status: 'OK' }),
    deployment(2, 'again@v1'),
    deployment(1, 'updated@v1'),
    deployment(0, 'old@v1', { createdAt: '2026-01-10T12:00:00Z' }),
  ]
  const since = Date.parse('2026-01-15T00:00:00Z')
  const found = failedFirsts(deployments, [{ reference: 'updated@v1' }], since)
  expect(found.map(({ id }) => id)).toEqual([4])
  expect(failedFirstOf(deployments, 'broken@v1')?.id).toBe(4)
  expect(failedFirstOf(deployments, 'gone@v1')).toBeNull()
  expect(failedFirstOf(deployments, 'again@v1')).toBeNull()
  expect(failedFirstOf(deployments, 'unknown@v1')).toBeNull()
})
