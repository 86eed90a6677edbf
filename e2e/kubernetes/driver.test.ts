import { describe, expect, test } from 'vitest'
import { hasCluster } from '../support/kubernetes.ts'
import { container, openDriver, workload } from './driver-harness.ts'

const host = process.env['SHOAL_TEST_HOST_ADDRESS']

describe.skipIf(!hasCluster)('the Kubernetes driver', () => {
  test('starts programs, and removes them', async () => {
    const { runtime, until } = await openDriver()
    await runtime.apply(workload([container('api'), container('processor')]))
    await until('api', { state: 'running', run: { ordinal: 0, node: expect.any(String) }, lastRun: null, reason: null })
    await until('processor', { state: 'running', run: { ordinal: 0 } })
    expect(await runtime.tail('12.1', 'api', 5)).toEqual(['listening'])
    await runtime.remove('12.1')
    await expect.poll(() => runtime.observe(), { timeout: 60_000 }).toEqual([])
    await runtime.remove('12.1')
  })

  test.skipIf(!host)('resolves ports to the addresses of pods, where programs answer', async () => {
    const { runtime, directory, until } = await openDriver()
    const changes: string[] = []
    directory.changed((id, name) => changes.push(`${id}/${name}`))
    await runtime.apply(workload([container('api')]))
    await until('api', { state: 'running' })
    await expect.poll(() => directory.endpoint('12.1', 'api', 4350)).toMatchObject({ kind: 'tcp', port: 4350 })
    expect(changes).toContain('12.1/api')
    expect(directory.endpoint('12.1', 'api', 4351)).toBeNull()
    expect(directory.endpoint('12.1', 'unknown', 4350)).toBeNull()
    const endpoint = directory.endpoint('12.1', 'api', 4350)
    const address = endpoint?.kind === 'tcp' ? endpoint.host : ''
    const response = await fetch(`http://${address}:4350`)
    expect(await response.text()).toMatch(/^w12-1-/)
    await runtime.remove('12.1')
    await expect.poll(() => directory.endpoint('12.1', 'api', 4350)).toBeNull()
  })
})
