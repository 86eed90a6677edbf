import { describe, expect, test } from 'vitest'
import type { Job, Pod } from '../objects/object-types.ts'
import { type AttemptState, attemptState } from './attempt-state.ts'
import { type BuildAttempt, buildDependents, buildJob } from './build-objects.ts'

const attempt: BuildAttempt = {
  installation: '3f9a01bc',
  tenant: '7',
  key: 'deployment-12',
  name: 'build-0123456789abcdef-01020304',
  image: `registry.example.com/base@sha256:${'0'.repeat(64)}`,
  url: 'http://10.0.0.9:4321',
  tokens: { install: 'install-secret', build: 'build-secret' },
  limits: { memoryBytes: 2 ** 31, cpuCores: 2, timeMs: 1_800_000, diskBytes: 2 ** 32 },
  deadlineSeconds: 2700,
}
const options = { cpuRequestRatio: 0.25, runtimeClass: 'gvisor', containerDiskBytes: 0 }
const egressTo = [{ cidr: '10.0.0.9', port: 4321 }]

const textOf = (objects: object) => `${JSON.stringify(objects, null, 2)}\n`

describe('objects of a build', () => {
  test('are a Job, a Secret with its tokens, and a network policy', async () => {
    const objects = [buildJob(attempt, options), ...buildDependents(attempt, 'job-uid', egressTo)]
    await expect(textOf(objects)).toMatchFileSnapshot('golden/build.golden')
  })

  test('have one container if the dependencies are cached, and no disk limits if these are disabled', () => {
    const limits = { ...attempt.limits, diskBytes: 0 }
    const cached = { ...attempt, limits, tokens: { ...attempt.tokens, install: null } }
    const text = textOf([
      buildJob(cached, { ...options, runtimeClass: null }),
      ...buildDependents(cached, 'u', egressTo),
    ])
    expect(text).not.toMatch(/initContainers|"install"|sizeLimit|ephemeral-storage|runtimeClassName/)
  })

  test('contain tokens only in the Secret', () => {
    const [policy] = buildDependents(attempt, 'u', egressTo)
    const text = textOf([buildJob(attempt, options), policy ?? {}])
    for (const token of ['install-secret', 'build-secret'])
      for (const form of [token, Buffer.from(token).toString('base64')]) expect(text).not.toContain(form)
  })
})

const metadata = { name: 'b', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }
const job: Job = { metadata }
const pod = (status: Pod['status'], more: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { ...metadata, ...more },
  spec: { containers: [{ name: 'build' }] },
  status,
})
const terminated = (reason: string, exitCode: number) => ({
  name: 'build',
  restartCount: 0,
  state: { terminated: { exitCode, reason, startedAt: null, finishedAt: null } },
})
const waiting = (reason: string, message = '') => ({
  name: 'install',
  restartCount: 0,
  state: { waiting: { reason, message } },
})
const running = { name: 'install', restartCount: 0, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } }

describe('the state of an attempt', () => {
  const cases: [name: string, objects: Partial<Parameters<typeof attemptState>[0]>, expected: AttemptState][] = [
    ['a deleted Job', { job: undefined }, { kind: 'deleted' }],
    ['no pod yet', {}, { kind: 'starting', reason: null }],
    [
      'a quota that is used up',
      { refusal: 'pods "x" is forbidden: exceeded quota: squids, requested: pods=1' },
      {
        kind: 'starting',
        reason: 'The quota of the organization is used up: exceeded quota: squids, requested: pods=1',
      },
    ],
    [
      'no host with enough free resources',
      {
        pod: pod({
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }],
        }),
      },
      { kind: 'starting', reason: 'No host has enough free resources: 0/2 nodes are available' },
    ],
    [
      'an image that cannot be pulled, of the first container',
      {
        pod: pod({
          phase: 'Pending',
          initContainerStatuses: [waiting('ImagePullBackOff', 'unauthorized')],
          containerStatuses: [waiting('PodInitializing')],
        }),
      },
      {
        kind: 'starting',
        reason:
          'Its image cannot be pulled, since the registry refuses the credentials of this installation: unauthorized',
      },
    ],
    [
      'an install that runs',
      {
        pod: pod({
          phase: 'Pending',
          initContainerStatuses: [running],
          containerStatuses: [waiting('PodInitializing')],
        }),
      },
      { kind: 'running' },
    ],
    [
      'memory is exhausted',
      { pod: pod({ phase: 'Failed', containerStatuses: [terminated('OOMKilled', 137)] }) },
      { kind: 'ended', how: 'out of memory' },
    ],
    [
      'disk space is exhausted',
      {
        pod: pod({
          phase: 'Failed',
          reason: 'Evicted',
          message: 'Usage of EmptyDir volume "work" exceeds the limit "1Gi".',
        }),
      },
      { kind: 'ended', how: 'out of disk' },
    ],
    [
      'an eviction',
      { pod: pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }) },
      { kind: 'ended', how: 'evicted' },
    ],
    [
      'a node that is drained',
      { pod: pod({ phase: 'Failed', conditions: [{ type: 'DisruptionTarget', status: 'True' }] }) },
      { kind: 'ended', how: 'evicted' },
    ],
    [
      'a lost node',
      { pod: pod({ phase: 'Running', containerStatuses: [running] }, { deletionTimestamp: '2026-01-01T00:01:00Z' }) },
      { kind: 'ended', how: 'evicted' },
    ],
    [
      'the end of its program',
      { pod: pod({ phase: 'Failed', containerStatuses: [terminated('Error', 1)] }) },
      { kind: 'ended', how: 'exited' },
    ],
  ]
  test.each(cases)('is recognized: %s', (_name, objects, expected) => {
    expect(attemptState({ job, pod: undefined, refusal: null, ...objects })).toEqual(expected)
  })
})
