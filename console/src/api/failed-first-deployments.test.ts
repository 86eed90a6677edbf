import type { Deployment } from '@shoal/contract'
import { expect, test } from 'vitest'
import { failedFirstDeploymentOf, failedFirstDeployments } from './failed-first-deployments.ts'

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

test('a failed first deployment is listed until its version is deployed again or exists', () => {
  const deployments = [
    deployment(5, 'retried@v1', { failed: 'NO', status: 'UNPACKING' }),
    deployment(4, 'broken@v1'),
    deployment(3, 'deleted@v1', { type: 'DELETE', failed: 'NO', status: 'OK' }),
    deployment(2, 'retried@v1'),
    deployment(1, 'updated@v1'),
    deployment(0, 'old@v1', { createdAt: '2026-01-10T12:00:00Z' }),
  ]
  const sinceMs = Date.parse('2026-01-15T00:00:00Z')
  const found = failedFirstDeployments(deployments, [{ reference: 'updated@v1' }], sinceMs)
  expect(found.map(({ id }) => id)).toEqual([4])
  expect(failedFirstDeploymentOf(deployments, 'broken@v1')?.id).toBe(4)
  expect(failedFirstDeploymentOf(deployments, 'deleted@v1')).toBeNull()
  expect(failedFirstDeploymentOf(deployments, 'retried@v1')).toBeNull()
  expect(failedFirstDeploymentOf(deployments, 'unknown@v1')).toBeNull()
})
