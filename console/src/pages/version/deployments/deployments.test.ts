import type { Deployment, DeploymentStatus, DeploymentType } from '@shoal/contract'
import { expect, test } from 'vitest'
import { deploymentTitle, stepLabel } from '../../../components/deployment-title.ts'
import { deploymentChip } from './deployment-labels.ts'
import { lastDeploymentOf } from './last-deployment.ts'
import { rollbackDisabledReason } from '../../../components/squid/deployment-actions.tsx'
import { timelineOf } from './timeline.ts'

const startedAt = '2026-09-02T12:00:00.000Z'
const plan: Deployment['plan'] = ['UNPACKING', 'IMAGE_BUILDING', 'SQUID_SYNCING']
const unpacked = { status: 'UNPACKING', startedAt, elapsedMs: 40 } as const
const states = (deployment: Parameters<typeof timelineOf>[0]) =>
  timelineOf(deployment).map(({ status, state, elapsedMs }) => [status, state, elapsedMs])

test('the status of a deployment is shown as ERROR, SUCCEEDED, or the current step', () => {
  expect(deploymentChip({ status: 'IMAGE_BUILDING', failed: 'UNEXPECTED' }).text).toBe('ERROR')
  expect(deploymentChip({ status: 'OK', failed: 'NO' })).toEqual({ text: 'SUCCEEDED', tone: 'good', isPulsing: false })
  expect(deploymentChip({ status: 'IMAGE_BUILDING', failed: 'NO' })).toMatchObject({
    text: 'IMAGE_BUILDING',
    isPulsing: true,
  })
})

test('the title of a change of a tag contains the tag, and the type of a deployment determines the label of a step', () => {
  const options = { tag: 'production', hardReset: false }
  expect(deploymentTitle({ type: 'SET_TAG', options })).toBe('Set tag production')
  expect(deploymentTitle({ type: 'DEPLOY', options })).toBe('Deploy')
  expect(stepLabel('RESTART', 'SQUID_SYNCING')).toBe('Starting')
  expect(stepLabel('HIBERNATE', 'SQUID_SYNCING')).toBe('Stopping')
})

test('a timeline shows the current and the upcoming steps', () => {
  const building = { status: 'IMAGE_BUILDING', startedAt, elapsedMs: null } as const
  expect(states({ status: 'IMAGE_BUILDING', failed: 'NO', plan, steps: [unpacked, building] })).toEqual([
    ['UNPACKING', 'done', 40],
    ['IMAGE_BUILDING', 'running', null],
    ['SQUID_SYNCING', 'waiting', null],
  ])
  expect(states({ status: 'UNPACKING', failed: 'NO', plan, steps: [] }).map(([, state]) => state)).toEqual([
    'waiting',
    'waiting',
    'waiting',
  ])
})

test('a timeline shows the failed step and the skipped ones', () => {
  const steps = [unpacked, { status: 'IMAGE_BUILDING', startedAt, elapsedMs: 900 }] as const
  expect(states({ status: 'IMAGE_BUILDING', failed: 'SOURCE_FILES_BUILD_FAILED', plan, steps: [...steps] })).toEqual([
    ['UNPACKING', 'done', 40],
    ['IMAGE_BUILDING', 'failed', 900],
    ['SQUID_SYNCING', 'skipped', null],
  ])
})

test('a version can roll back to a kept image that is not the current one', () => {
  const squid = { status: 'DEPLOYED', lastDeploy: null, image: 'new' } as const
  const deploy = { type: 'DEPLOY', failed: 'NO', image: 'old' } as const
  expect(rollbackDisabledReason(squid, deploy)).toBeNull()
  expect(rollbackDisabledReason(squid, { ...deploy, image: 'new' })).toBe('This is the current image.')
  expect(rollbackDisabledReason(squid, { ...deploy, image: null })).toBe('Its image is no longer kept.')
  expect(rollbackDisabledReason(squid, { ...deploy, failed: 'UNEXPECTED' })).toMatch(/^It failed/)
  expect(rollbackDisabledReason(squid, { ...deploy, type: 'RESTART' })).toMatch(/^It did not change the code/)
  expect(rollbackDisabledReason({ ...squid, status: 'DEPLOYING' }, deploy)).toMatch(/is in progress/)
})

test('the last deployment is the one in progress, otherwise the newest that deployed code', () => {
  const deployment = (type: DeploymentType, status: DeploymentStatus = 'OK') => ({
    type,
    status,
    failed: 'NO' as const,
  })
  const [tag, restart, deploy, older] = [
    deployment('SET_TAG'),
    deployment('RESTART'),
    deployment('DEPLOY'),
    deployment('DEPLOY'),
  ]
  const running = deployment('HIBERNATE', 'SQUID_SYNCING')
  expect(lastDeploymentOf([tag, restart, deploy, older])).toBe(deploy)
  expect(lastDeploymentOf([running, deploy])).toBe(running)
  expect(lastDeploymentOf([tag, restart])).toBe(tag)
  expect(lastDeploymentOf([])).toBeNull()
})
