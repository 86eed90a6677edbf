import { describe, expect, test } from 'vitest'
import { systemRuntimeClock } from '../../clock.ts'
import type { Restart } from '../../driver.ts'
import { annotations } from '../names.ts'
import type { ContainerStatus, Job, Node, Pod } from '../objects/object-types.ts'
import { Nodes } from './nodes.ts'
import { RUNS, WorkloadState } from './workload-state.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const now = at(50)

const metadata = (name: string, overrides: object = {}) => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: at(0),
  annotations: { [annotations.workload]: '12.3', [annotations.container]: 'one' },
  ...overrides,
})

/** Creates a workload with the container `one`, and functions that change its objects as the cluster does. */
function open(restart: Restart = 'on-failure', runs?: string) {
  const nodes = new Nodes(systemRuntimeClock)
  const state = new WorkloadState('shoal-a-o7', nodes)
  const desired = { id: '12.3', containers: [{ name: 'one', restart, object: 'w12-3-one-a' }] }
  const setAnchor = (overrides: object = {}) => {
    const data = { workload: JSON.stringify(desired), ...(runs === undefined ? {} : { [RUNS]: runs }) }
    state.setAnchor({ metadata: metadata('w12-3', overrides), data })
  }
  const setJob = (name: string, job: Partial<Job> & { overrides?: object } = {}, isDeleted = false) =>
    state.setController({ ...job, metadata: metadata(name, job.overrides) }, isDeleted)
  const setPod = (
    name: string,
    status: Partial<ContainerStatus> | null,
    pod: { overrides?: object; status?: object } = {},
  ) => state.setPod(podOf(name, status, pod), false, now)
  const deletePod = (name: string, status: Partial<ContainerStatus>, overrides: object = {}) =>
    state.setPod(podOf(name, status, { overrides }), true, now)
  setAnchor()
  setJob('w12-3-one-a')
  /** `status`: the status of the condition Ready on the node of the pods. */
  const setNode = (status: 'True' | 'False' | 'Unknown', second: number) => {
    nodes.change(nodeOf(status, second), false)
    state.invalidate()
  }
  return { state, setNode, setAnchor, setJob, setPod, deletePod, firstObservation: () => state.observations()[0] }
}

const nodeOf = (status: 'True' | 'False' | 'Unknown', second: number): Node => ({
  metadata: metadata('n1'),
  status: { conditions: [{ type: 'Ready', status, lastTransitionTime: at(second) }] },
})

function podOf(
  name: string,
  status: Partial<ContainerStatus> | null,
  pod: { overrides?: object; status?: object },
): Pod {
  return {
    metadata: metadata(name, { ownerReferences: [{ name: 'w12-3-one-a' }], ...pod.overrides }),
    spec: { nodeName: 'n1', containers: [] },
    status: { ...(status ? { containerStatuses: [{ name: 'one', restartCount: 0, ...status }] } : {}), ...pod.status },
  }
}

const running = (second: number) => ({ running: { startedAt: at(second) } })
const terminated = (exitCode: number, reason = 'Error', message = '') => ({
  terminated: { exitCode, reason, message, startedAt: at(1), finishedAt: at(2) },
})
const crashLoop = (message: string) => ({ waiting: { reason: 'CrashLoopBackOff', message } })
const waiting = (reason: string, message: string) => ({ state: { waiting: { reason, message } } })

describe('runs', () => {
  test('whose pods disappeared while no worker ran were ended by the cluster, even if their Job is complete', () => {
    const first = open()
    first.setPod('p', { state: running(1) })
    const next = open('on-failure', first.state.storedRecords())
    next.setJob('w12-3-one-a', { status: { conditions: [{ type: 'Complete', status: 'True' }] } })
    expect(next.firstObservation()).toMatchObject({ state: 'finished' })
    expect(next.state.endVanishedRuns(now)).toBe(true)
    expect(next.firstObservation()).toMatchObject({
      state: 'starting',
      lastRun: { id: 'p/0', ordinal: 0, how: 'evicted', exitCode: null },
    })
    expect(next.state.endVanishedRuns(now)).toBe(false)
    // The pod of a program that was not stopped remains.
    next.setPod('q', { state: terminated(0, 'Completed') })
    expect(next.state.endVanishedRuns(now)).toBe(false)
    expect(next.firstObservation()).toMatchObject({
      state: 'finished',
      lastRun: { id: 'q/0', ordinal: 1, how: 'done' },
    })
  })

  test('are counted across restarts in a pod', () => {
    const { setPod, firstObservation } = open()
    setPod('p', { state: running(1) })
    expect(firstObservation()).toMatchObject({
      state: 'running',
      run: { id: 'p/0', ordinal: 0, node: 'n1' },
      lastRun: null,
    })
    const ended = terminated(7)
    setPod('p', { restartCount: 0, state: crashLoop('back-off 1m20s restarting failed'), lastState: ended })
    const lastRun = { id: 'p/0', ordinal: 0, exitCode: 7, how: 'error', endedAt: new Date(at(2)) }
    expect(firstObservation()).toMatchObject({
      state: 'backoff',
      run: null,
      lastRun,
      retryAt: new Date(Date.parse(at(2)) + 80_000),
      reason: 'It ended with exit code 7',
    })
    setPod('p', { restartCount: 1, state: running(20), lastState: ended })
    expect(firstObservation()).toMatchObject({
      state: 'running',
      run: { id: 'p/1', ordinal: 1 },
      lastRun,
      reason: null,
    })
    // Runs between two observations appear as a gap in the ordinals.
    setPod('p', { restartCount: 5, state: running(40), lastState: terminated(8) })
    expect(firstObservation()).toMatchObject({ run: { ordinal: 5 }, lastRun: { id: 'p/4', ordinal: 4, exitCode: 8 } })
  })

  test('continue in the next pod, and moving a pod does not count as a crash', () => {
    const { setPod, deletePod, firstObservation, state } = open()
    setPod('p', { restartCount: 2, state: running(1), lastState: terminated(7) })
    const moving = { overrides: { deletionTimestamp: at(30) } }
    setPod('p', { restartCount: 2, state: terminated(143) }, moving)
    expect(firstObservation()).toMatchObject({ lastRun: { ordinal: 2, how: 'evicted', exitCode: 143 } })
    deletePod('p', { restartCount: 2, state: terminated(143) }, moving.overrides)
    expect(firstObservation()).toMatchObject({ state: 'starting', lastRun: { ordinal: 2, how: 'evicted' } })
    setPod('q', { state: running(40) }, { overrides: { creationTimestamp: at(35) } })
    expect(firstObservation()).toMatchObject({
      run: { id: 'q/0', ordinal: 3 },
      lastRun: { ordinal: 2, how: 'evicted' },
    })
    // The next server reads the records from the anchor.
    const next = open('on-failure', state.storedRecords())
    next.setPod('q', { state: running(40) }, { overrides: { creationTimestamp: at(35) } })
    expect(next.firstObservation()).toEqual(firstObservation())
  })

  test.each([0, 143])('that the cluster stopped are not finished, even with exit code %i', (exitCode) => {
    const { setPod, setJob, deletePod, firstObservation } = open()
    setPod('p', { state: running(1) })
    const overrides = { deletionTimestamp: at(30) }
    setPod('p', { state: terminated(exitCode) }, { overrides })
    const expected = { state: 'starting', lastRun: { how: 'evicted', exitCode }, run: null }
    expect(firstObservation()).toMatchObject({ ...expected, reason: 'Its host stopped it' })
    setJob('w12-3-one-a', { status: { conditions: [{ type: 'Complete', status: 'True' }] } })
    deletePod('p', { state: terminated(exitCode) }, overrides)
    expect(firstObservation()).toMatchObject(expected)
  })

  test('that ended with a lost host have no exit code', () => {
    const { setPod, deletePod, firstObservation } = open()
    setPod('p', { state: running(1) })
    deletePod('p', { state: running(1) }, { deletionTimestamp: at(30) })
    expect(firstObservation()).toMatchObject({
      lastRun: { id: 'p/0', exitCode: null, how: 'evicted', endedAt: new Date(now) },
    })
  })

  test('of a container that is replaced are stopped, not crashed', () => {
    const { setPod, setJob, firstObservation } = open()
    setPod('p', { state: running(1) })
    setJob('w12-3-one-a', { overrides: { deletionTimestamp: at(20) } })
    const overrides = { deletionTimestamp: at(20) }
    setPod('p', { state: running(1) }, { overrides })
    expect(firstObservation()).toMatchObject({ state: 'running', run: { id: 'p/0' } })
    setPod('p', { state: terminated(143) }, { overrides })
    expect(firstObservation()).toMatchObject({ lastRun: { how: 'stopped', exitCode: 143 } })
  })

  test.each([
    ['its own', 137, 'OOMKilled', '', { how: 'oom', exitCode: 137, oomKills: 1 }],
    ['a child, reported by init', 137, 'Error', '{"oomKills": 3}', { how: 'oom', exitCode: 137, oomKills: 3 }],
    [
      'a child that it survived',
      0,
      'Completed',
      '{"oomKills":2,"survived":2}',
      { how: 'done', exitCode: 0, oomKills: 2 },
    ],
    [
      'a child, hidden by a wrapper',
      1,
      'Error',
      '{"oomKills":1,"survived":0}',
      { how: 'oom', exitCode: 1, oomKills: 1 },
    ],
    [
      'a child that it survived until a kill',
      137,
      'OOMKilled',
      '{"oomKills":1,"survived":1}',
      { how: 'error', exitCode: 137, oomKills: 1 },
    ],
    [
      'its own, after a child',
      137,
      'OOMKilled',
      '{"oomKills":2,"survived":1}',
      { how: 'oom', exitCode: 137, oomKills: 2 },
    ],
    ['an earlier image, which ended with 1', 1, 'Error', '{"oomKills":1}', { how: 'error', exitCode: 1, oomKills: 1 }],
    ['no one', 137, 'Error', '', { how: 'error', exitCode: 137, oomKills: 0 }],
  ])('count out-of-memory kills: %s', (_, exitCode, reason, message, lastRun) => {
    const { setPod, firstObservation } = open()
    setPod('p', { state: terminated(exitCode, reason, message) })
    expect(firstObservation()).toMatchObject({ lastRun })
  })
})

describe('the state of a container', () => {
  test.each([
    ['on-failure', 0, 'finished', 'done'],
    ['on-failure', 3, 'backoff', 'error'],
    ['never', 3, 'finished', 'error'],
    ['always', 0, 'backoff', 'error'],
  ] as const)('with restart %s is, after exit code %i, %s', (restart, exitCode, state, how) => {
    const { setPod, firstObservation } = open(restart)
    setPod('p', { state: terminated(exitCode) })
    const reason = how === 'done' ? null : `It ended with exit code ${exitCode}`
    expect(firstObservation()).toMatchObject({ state, lastRun: { exitCode, how }, reason })
  })

  test('is still finished after the pod of its complete Job was deleted', () => {
    const { setPod, setJob, deletePod, firstObservation } = open()
    setPod('p', { state: terminated(0) })
    setJob('w12-3-one-a', { status: { conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: at(9) }] } })
    deletePod('p', { state: terminated(0) })
    expect(firstObservation()).toMatchObject({
      state: 'finished',
      since: new Date(at(9)),
      lastRun: { how: 'done' },
      reason: null,
    })
  })

  test.each([
    [
      'ErrImagePull',
      'failed to resolve reference "r/x@sha256:0": r/x@sha256:0: not found',
      'failed',
      /no longer exists/,
    ],
    ['InvalidImageName', "couldn't parse image name", 'failed', /no longer exists/],
    ['ImagePullBackOff', 'Back-off pulling: dial tcp: connection refused', 'starting', /cannot be pulled: .*refused/],
    ['CreateContainerConfigError', 'secret "x" not found', 'starting', /cannot be started yet: secret "x"/],
  ])('depends on why its pod waits: %s “%s” means %s', (reason, message, state, sentence) => {
    const { setPod, firstObservation } = open()
    setPod('p', waiting(reason, message))
    expect(firstObservation()).toMatchObject({
      state,
      reason: expect.stringMatching(sentence),
      run: null,
      lastRun: null,
    })
  })

  test('is failed if its command does not exist', () => {
    const { setPod, firstObservation } = open()
    const message = 'exec: "no-such": executable file not found in $PATH'
    const state = crashLoop('back-off 10s restarting failed container')
    setPod('p', { restartCount: 1, state, lastState: terminated(128, 'StartError', message) })
    const expected = { state: 'failed', reason: 'There is no command "no-such"', lastRun: null, run: null }
    expect(firstObservation()).toMatchObject({ ...expected, retryAt: new Date(Date.parse(at(2)) + 10_000) })
  })

  test('is starting, with the reason, while its pod has no host', () => {
    const { setPod, firstObservation } = open()
    const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/2 nodes are available' }]
    setPod('p', null, { status: { conditions } })
    expect(firstObservation()).toMatchObject({
      state: 'starting',
      reason: 'No host has enough free resources: 0/2 nodes are available',
    })
  })

  test('has a reason while the quota refuses its pod', () => {
    const { state, firstObservation } = open()
    state.refusals.set('w12-3-one-a', 'pods "x" is forbidden: exceeded quota: squids, requested: pods=1')
    state.invalidate()
    expect(firstObservation()?.reason).toBe(
      'The quota of the organization is used up: exceeded quota: squids, requested: pods=1',
    )
  })

  test('is observed after its removal as long as its Job or a pod exists', () => {
    const { setAnchor, setJob, setPod, deletePod, state, firstObservation } = open()
    setPod('p', { state: running(1) })
    setAnchor({ deletionTimestamp: at(20) })
    expect(firstObservation()).toMatchObject({ workload: '12.3', container: 'one', state: 'running' })
    setJob('w12-3-one-a', {}, true)
    expect(firstObservation()).toMatchObject({ state: 'running' })
    deletePod('p', { state: running(1) }, { deletionTimestamp: at(20) })
    expect(firstObservation()).toBeUndefined()
    state.setAnchor(null)
    expect(state.isEmpty).toBe(true)
  })
})

test.each([
  ['failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized', true],
  ['pull access denied, repository does not exist or may require authorization: insufficient_scope', true],
  ['dial tcp 10.0.0.1:443: connect: connection refused', false],
])('an image that cannot be pulled is reported with the registry’s own message: %s', (message, isRefused) => {
  const { setPod, firstObservation } = open()
  setPod('p1', waiting('ImagePullBackOff', message))
  const refused = isRefused ? ', since the registry refuses the credentials of this installation' : ''
  expect(firstObservation()).toMatchObject({
    state: 'starting',
    reason: `Its image cannot be pulled${refused}: ${message}`,
  })
})

describe('starts that never ran', () => {
  const cannotStart = terminated(128, 'StartError', 'exec: "nothing": executable file not found in $PATH')

  test('are not runs: the first program that runs has the ordinal 0', () => {
    const { setPod, firstObservation } = open()
    setPod('p1', { state: cannotStart })
    setPod('p1', {
      state: crashLoop('back-off 10s restarting failed container'),
      lastState: cannotStart,
      restartCount: 3,
    })
    expect(firstObservation()).toMatchObject({ state: 'failed', run: null, lastRun: null })
    setPod('p1', { state: running(10), lastState: cannotStart, restartCount: 4 })
    expect(firstObservation()).toMatchObject({ state: 'running', run: { ordinal: 0 }, lastRun: null })
    setPod('p1', { state: terminated(7), restartCount: 4 })
    expect(firstObservation()).toMatchObject({ lastRun: { ordinal: 0, exitCode: 7 } })
  })

  test('between two runs leave no gap', () => {
    const { setPod, firstObservation } = open()
    setPod('p1', { state: running(1) })
    setPod('p1', { state: terminated(7) })
    const { lastRun } = firstObservation() ?? {}
    setPod('p1', { state: cannotStart, lastState: terminated(7), restartCount: 1 })
    expect(firstObservation()).toMatchObject({ lastRun })
    setPod('p1', { state: running(10), lastState: cannotStart, restartCount: 2 })
    expect(firstObservation()).toMatchObject({ run: { ordinal: 1 }, lastRun })
  })
})

describe('a host that does not respond', () => {
  test('does not end the run of its program, which is the same when the host responds again', () => {
    const { setPod, setNode, firstObservation } = open()
    setPod('p1', { state: running(1) })
    const before = firstObservation()
    expect(before).toMatchObject({ state: 'running', hostLostSince: null })
    setNode('Unknown', 30)
    expect(firstObservation()).toMatchObject({
      state: 'starting',
      since: new Date(at(30)),
      hostLostSince: new Date(at(30)),
      run: null,
      reason: 'It waits for its host n1, which does not respond',
    })
    setNode('True', 40)
    expect(firstObservation()).toEqual(before)
  })

  test('does not delay a program that had already ended there', () => {
    const { setPod, setNode, firstObservation } = open()
    setPod('p1', { state: terminated(0, 'Completed') }, { status: { phase: 'Succeeded' } })
    setNode('False', 30)
    expect(firstObservation()).toMatchObject({ state: 'finished', hostLostSince: null })
  })
})
