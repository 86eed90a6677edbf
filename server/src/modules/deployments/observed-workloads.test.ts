import type { Runtime } from '@shoal/runtime'
import { expect, test } from 'vitest'
import { sealWorkload, updateSquid } from '../versions/index.ts'
import { makeVersion, specOf, workloadOf } from '../versions/testing/make-version.ts'
import { startEngine } from './engine.ts'
import { reconcile } from './reconcile.ts'
import { fastIntervals, startDeployApp, type DeployApp } from './testing/deploy-app.ts'

/** Starts workloads of other versions, as other deployments have done before. */
async function addWorkloads({ runtime }: DeployApp, count: number): Promise<void> {
  const api = { name: 'api', command: ['api'], env: {}, ports: [], stopGraceMs: 0 }
  const resources = { cpuCores: 1, memoryBytes: 1024 ** 2 }
  for (let version = 1; version <= count; version++)
    await runtime.apply({
      id: `${1_000_000 + version}.1`,
      tenant: 'other',
      version: String(1_000_000 + version),
      image: 'image',
      containers: [{ ...api, resources, restart: 'always' }],
    })
}

type Reads = { all: number; own: number; foreign: number }

/** Returns a runtime that counts its reads. */
function countingRuntime(counted: Runtime): { reads: Reads; runtime: Runtime } {
  const reads: Reads = { all: 0, own: 0, foreign: 0 }
  const observe: Runtime['observe'] = async (workloads) => {
    const observations = await counted.observe(workloads)
    reads[workloads ? 'own' : 'all']++
    if (workloads) reads.foreign += observations.filter((o) => !workloads.includes(o.workload)).length
    return observations
  }
  const runtime = new Proxy(counted, {
    get: (target, key) => {
      if (key === 'observe') return observe
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { reads, runtime }
}

/** Deploys a version twice and deletes it, and counts the engine's reads of all workloads, of given ones, and of containers that it did not need. */
async function countReads(others: number): Promise<Reads> {
  const t = await startDeployApp()
  try {
    await addWorkloads(t, others)
    const { reads, runtime } = countingRuntime(t.runtime)
    const engine = startEngine({ ...t.app, runtime }, fastIntervals)
    try {
      const d = await t.deployer()
      await d.deployAndWait({}, { name: 'measured', slot: 'v1' })
      await d.deployAndWait({}, { name: 'measured', slot: 'v1' })
      await d.waitForEnd(await d.api.squids.delete({ params: { code: d.org.code, reference: 'measured@v1' } }))
    } finally {
      await engine.close()
    }
    return reads
  } finally {
    await t.close()
  }
}

test('a deployment polls its own workloads, regardless of how many other workloads exist', async () => {
  const [few, many] = [await countReads(1), await countReads(300)]
  expect(many.all).toBe(few.all)
  // Each deployment reads all workloads only to find earlier generations of its version.
  expect(many.all).toBeLessThanOrEqual(12)
  expect(many.own).toBeGreaterThan(3 * many.all)
  expect([few.foreign, many.foreign]).toEqual([0, 0])
})

test('a worker that starts the programs of many versions reads all workloads once a round, not for each version', async () => {
  const t = await startDeployApp()
  try {
    const org = await t.make.org()
    for (let slot = 1; slot <= 40; slot++) {
      const squid = await makeVersion(t.app, org, { slot: `v${slot}`, apis: [{}] })
      const workload = workloadOf(squid, [specOf('api', 4350, {})])
      await updateSquid(t.app.db, squid.id, { sealedWorkload: sealWorkload(t.app.sealer, squid.id, workload) })
      await t.runtime.remove(workload.id)
      // The workload of a deployment that was killed, in a generation after the current one.
      if (slot === 40) await t.runtime.apply({ ...workload, id: `${squid.id}.2` })
    }
    const { reads, runtime } = countingRuntime(t.runtime)
    const engine = startEngine({ ...t.app, runtime }, { ...fastIntervals, sweepMs: 60_000 })
    try {
      await reconcile(engine.worker, engine.locks, new AbortController().signal)
    } finally {
      await engine.close()
    }
    const workloads = (await t.runtime.observe()).map(({ workload }) => workload)
    expect(workloads).toHaveLength(40)
    expect(workloads.filter((id) => !id.endsWith('.1'))).toEqual([])
    expect(reads.all).toBe(1)
  } finally {
    await t.close()
  }
})
