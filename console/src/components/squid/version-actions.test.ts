import type { SquidSummary } from '@shoal/contract'
import { expect, test } from 'vitest'
import { actionsOn } from '../actions.ts'
import { versionActions } from './version-actions.tsx'

const running = {
  reference: 'erc20@v1',
  status: 'DEPLOYED',
  deployedAt: '2026-01-15T12:00:00Z',
  lastDeploy: null,
  api: { urls: [{ type: 'canonical', url: 'https://erc20' }] },
} as unknown as SquidSummary
const call = () => undefined
const context = { openSchema: call, restart: call, redeploy: call, hibernate: call, remove: call }

/** The enabled actions of a version, for an admin or a viewer. */
const enabledOn = (squid: SquidSummary, roleType: 'admin' | 'viewer' = 'admin') =>
  actionsOn(versionActions, squid, { ...context, membership: { roleType, isPlayground: false } })
    .filter(({ disabledReason }) => disabledReason === null)
    .map(({ label }) => label)

test('on a running version, an admin may run all actions, and a viewer may only copy the endpoint and open the schema', () => {
  expect(enabledOn(running)).toEqual([
    'Copy endpoint',
    'Schema and examples',
    'Restart',
    'Redeploy',
    'Hibernate',
    'Roll back…',
    'Delete',
  ])
  expect(enabledOn(running, 'viewer')).toEqual(['Copy endpoint', 'Schema and examples'])
})

test('a hibernated version can be redeployed, and its endpoint cannot be copied', () => {
  const hibernated = { ...running, status: 'HIBERNATED' } as const
  expect(enabledOn(hibernated)).toEqual(['Restart', 'Redeploy', 'Roll back…', 'Delete'])
})

test('a version that was never deployed successfully cannot be redeployed or rolled back, and one that is being deployed only allows using its API', () => {
  expect(enabledOn({ ...running, deployedAt: null })).not.toContain('Redeploy')
  expect(enabledOn({ ...running, deployedAt: null })).not.toContain('Roll back…')
  expect(enabledOn({ ...running, status: 'DEPLOYING' })).toEqual(['Copy endpoint', 'Schema and examples'])
})

test('to delete a version, the user must type its name, and the confirmation names what is lost', () => {
  expect(versionActions.delete.confirm({ ...running, name: 'erc20', tags: [{ name: 'production' }] })).toMatchObject({
    title: 'Delete erc20@v1?',
    typedName: 'erc20@v1',
    body: expect.stringContaining('its URLs and tags stop working') as string,
  })
})
