import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ContainerUsage } from '@shoal/runtime'
import { describe, expect, test } from 'vitest'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { createServiceAccount, workerRights } from '../support/service-account.ts'
import { until } from '../support/until.ts'
import { type Driver, container, openDriver, workload } from './driver-harness.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS']

/** Reads the counters in the cgroups of the namespace's first container and its pod, with cgroup version 1. */
async function cgroupOf(namespace: string) {
  const id = await kubectl([
    'get',
    'pods',
    '-n',
    namespace,
    '-o',
    'jsonpath={.items[0].status.containerStatuses[0].containerID}',
  ])
  const find = (hierarchy: string) =>
    globSync(`/sys/fs/cgroup/${hierarchy}/shoal-test-*/kubepods/**/${id.replace('containerd://', '')}`)[0] ?? ''
  const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8')
  const numberIn = (text: string, name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  const [cpu, memory] = [find('cpuacct'), find('memory')]
  return {
    cpuSeconds: () => Number(read(cpu, 'cpuacct.usage')) / 1e9,
    throttledSeconds: () => numberIn(read(dirname(find('cpu')), 'cpu.stat'), 'throttled_time') / 1e9,
    memoryBytes: () =>
      Number(read(memory, 'memory.usage_in_bytes')) - numberIn(read(memory, 'memory.stat'), 'total_inactive_file'),
    kill: () => {
      for (const pid of read(cpu, 'cgroup.procs').trim().split('\n')) process.kill(Number(pid), 'SIGKILL')
    },
  }
}

async function usageOf({ runtime }: Driver) {
  const [usage] = await runtime.usage()
  if (!usage) throw new Error('The runtime reports no usage')
  return usage
}

/** Waits for a measurement that is newer than this call, and shows more throttling than `throttledBefore`, because the kubelet measures the throttling of pods less often than their other usage. */
async function measure(driver: Driver, throttledBefore = 0) {
  const startedAt = new Date()
  const isNew = ({ at, throttledSeconds }: ContainerUsage) =>
    at > startedAt && (throttledSeconds ?? 0) > throttledBefore
  await until(async () => isNew(await usageOf(driver)), 'the kubelet measures again')
  return usageOf(driver)
}

describe.skipIf(!hasCluster || !host)('the usage of pods', () => {
  test('matches the counters of their cgroups', async () => {
    const driver = await openDriver({ kubeconfig: await createServiceAccount(workerRights) })
    expect(await driver.runtime.usage()).toEqual([])
    await driver.runtime.apply(workload([container('api', { command: ['burn'], ports: [] })]))
    await driver.until('api', { state: 'running' })
    const cgroup = await cgroupOf(driver.namespace)
    const before = { cpu: cgroup.cpuSeconds(), throttled: cgroup.throttledSeconds() }
    const usage = await measure(driver, before.throttled)
    const { run } = (await driver.observe('api')) ?? {}
    expect(usage).toMatchObject({ workload: '12.1', container: 'api', run: run?.id, cpuLimitCores: 0.2 })
    expect(usage).toMatchObject({ memoryLimitBytes: 64 * 1024 * 1024, oomKills: null })
    expect(usage.cpuSeconds).toBeGreaterThan(before.cpu)
    expect(usage.cpuSeconds).toBeLessThanOrEqual(cgroup.cpuSeconds())
    expect(usage.throttledSeconds).toBeGreaterThan(before.throttled)
    expect(usage.throttledSeconds).toBeLessThanOrEqual(cgroup.throttledSeconds())
    expect(usage.memoryBytes / cgroup.memoryBytes()).toBeGreaterThan(0.5)
    expect(usage.memoryBytes / cgroup.memoryBytes()).toBeLessThan(2)
  })

  test('starts at 0 with each run, even in the same pod', async () => {
    const driver = await openDriver()
    await driver.runtime.apply(workload([container('api', { command: ['burn'], ports: [] })]))
    await driver.until('api', { state: 'running' })
    const first = await measure(driver)
    const old = await cgroupOf(driver.namespace)
    old.kill()
    await driver.until('api', { state: 'running', run: { ordinal: 1 }, lastRun: { id: first.run } })
    const cgroup = await cgroupOf(driver.namespace)
    const second = await measure(driver)
    expect(second.run).not.toBe(first.run)
    expect(second.cpuSeconds).toBeGreaterThan(0)
    expect(second.cpuSeconds).toBeLessThanOrEqual(cgroup.cpuSeconds())
    expect(second.throttledSeconds).toBeLessThan(
      cgroup.throttledSeconds() - (first.throttledSeconds ?? Infinity) + 1e-6,
    )
  })

  test('is unknown without the right to read it, and the missing right is logged once', async () => {
    const messages: string[] = []
    const rights = workerRights.map((right) => ({
      ...right,
      resources: right.resources.filter((name) => name !== 'nodes/metrics'),
    }))
    const kubeconfig = await createServiceAccount(rights)
    const driver = await openDriver({ kubeconfig, log: (message) => messages.push(message) })
    await driver.runtime.apply(workload([container('api')]))
    await driver.until('api', { state: 'running' })
    // The runtime knows only the values of the first measurement of the run.
    for (const usage of [await usageOf(driver), await usageOf(driver)])
      expect(usage).toMatchObject({ cpuSeconds: 0, memoryBytes: 0 })
    expect(messages).toEqual([
      expect.stringMatching(
        /^The usage of programs on \S+ is not known: The kubelet at \S+ responded with HTTP status 403$/,
      ),
    ])
  })
})
