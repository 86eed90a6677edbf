import { beforeEach, describe, expect, test } from 'vitest'
import { systemRuntimeClock } from '../clock.ts'
import type { Restart } from '../driver.ts'
import { listResponse, startScriptedApiServer } from './client/api-server-harness.ts'
import { annotations } from './names.ts'
import type { Job, Pod } from './objects/object-types.ts'
import { reconcilePrograms, restartController } from './reconcile-programs.ts'
import { Nodes } from './state/nodes.ts'
import { WorkloadState } from './state/workload-state.ts'

const at = '2026-01-01T00:00:00Z'
const metadata = (name: string) => ({
  name,
  namespace: 'shoal-a-o7',
  uid: name,
  resourceVersion: '1',
  creationTimestamp: at,
  annotations: { [annotations.workload]: '12.3', [annotations.container]: 'processor' },
})

const options = { installation: 'a', cpuRequestRatio: 1, runtimeClass: null, containerDiskBytes: 0 }
let api: Awaited<ReturnType<typeof startScriptedApiServer>>
let state: WorkloadState

/** Sets the desired state in the cluster: one container, whose Job or Deployment has this name. */
function setDesired(object: string, restart: Restart = 'on-failure') {
  const resources = { cpuCores: 1, memoryBytes: 1 }
  const spec = { name: 'processor', command: ['x'], env: {}, resources, restart, ports: [], stopGraceMs: 1000, object }
  const desired = { id: '12.3', tenant: '7', version: '12', image: 'image', containers: [spec] }
  state.setAnchor({ metadata: metadata('w12-3'), data: { workload: JSON.stringify(desired) } })
}

const setJob = (name: string, isDeleted = false) => state.setController({ metadata: metadata(name) }, isDeleted)

/** Reconciles the programs. Returns the names of the objects that were created. */
async function reconcile(): Promise<string[]> {
  api.bodies.length = 0
  api.responses.splice(0, Infinity, listResponse(1), (response) => response.end(api.bodies.at(-1)))
  await reconcilePrograms(api.client, options, state)
  const bodies = api.bodies.filter((body) => body !== '').map((body) => JSON.parse(body) as Job)
  return bodies.map((job) => job.metadata.name)
}

const observedContainers = () => state.observations().map(({ container }) => container)

beforeEach(async () => {
  api = await startScriptedApiServer()
  state = new WorkloadState('shoal-a-o7', new Nodes(systemRuntimeClock))
})

describe('a processor whose Job the cluster has lost', () => {
  test('is neither observed nor created until it is applied again, since its program may still write', async () => {
    setDesired('job-1')
    // As after a restore to a moment between the storage of the desired state and the creation of the Job.
    expect(observedContainers()).toEqual([])
    expect(await reconcile()).toEqual([])
    state.permitCreation()
    expect(observedContainers()).toEqual(['processor'])
    expect(await reconcile()).toEqual(['job-1'])
    setJob('job-1')
    setJob('job-1', true)
    expect(observedContainers()).toEqual([])
    expect(await reconcile()).toEqual([])
  })

  test('is observed as long as one of its pods exists', async () => {
    setDesired('job-1')
    const pod = { metadata: metadata('pod'), spec: { nodeName: 'n1', containers: [] }, status: {} } as unknown as Pod
    state.setPod(pod, false, at)
    expect(observedContainers()).toEqual(['processor'])
    state.setPod(pod, true, at)
    expect(observedContainers()).toEqual([])
  })

  test('is created again if the driver itself has deleted the Job, and only then', async () => {
    setDesired('job-1')
    state.permitCreation()
    setJob('job-1')
    const [job] = state.controllersOf('processor')
    if (!job) throw new Error('unreachable')
    api.responses.push((response) => response.end('{}'))
    await restartController(api.client, state, job)
    setJob('job-1', true)
    expect(await reconcile()).toEqual(['job-1'])
    setJob('job-1', true)
    expect(await reconcile()).toEqual([])
  })
})

test('a processor whose desired state is an earlier one, as after a restore, is not observed even if its Job exists', () => {
  setDesired('job-1')
  state.permitCreation()
  setJob('job-1')
  state.addRequested(['job-2'])
  expect(observedContainers()).toEqual(['processor'])
  setDesired('job-2')
  state.permitCreation()
  setJob('job-2')
  setJob('job-1', true)
  expect(observedContainers()).toEqual(['processor'])
  setDesired('job-1')
  setJob('job-2', true)
  setJob('job-1')
  expect(observedContainers()).toEqual([])
})

test('a worker that has just started knows from its caller whether the desired state is an earlier one', () => {
  setDesired('job-1')
  setJob('job-1')
  expect(observedContainers()).toEqual(['processor'])
  state.recallObjects(['job-2'])
  expect(observedContainers()).toEqual([])
  setDesired('job-2')
  state.permitCreation()
  expect(observedContainers()).toEqual(['processor'])
  // A late report of what was applied before does not replace what was applied since.
  state.recallObjects(['job-1'])
  expect(observedContainers()).toEqual(['processor'])
})

test.each(['always', 'never'] as const)(
  'other programs (%s) are created whenever they are missing',
  async (restart) => {
    setDesired('object', restart)
    expect(observedContainers()).toEqual(['processor'])
    expect(await reconcile()).toEqual(['object'])
  },
)
