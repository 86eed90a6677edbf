import { describe, expect, test } from 'vitest'
import { proxyApiServer } from '../support/api-server-proxy.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { container, openDriver, workload } from './driver-harness.ts'

describe.skipIf(!hasCluster)('while the API server does not respond', () => {
  test('the state is unknown and endpoints remain; afterwards, the runtime reports everything that happened', async () => {
    const { kubeconfig, cut, restore } = await proxyApiServer()
    const { runtime, directory, namespace, observe, until } = await openDriver({ kubeconfig })
    await runtime.apply(workload([container('api'), container('processor')]))
    for (const name of ['api', 'processor']) await until(name, { state: 'running' })
    await expect.poll(() => directory.endpoint('12.1', 'api', 4350)).not.toBeNull()
    const [api, endpoint] = [await observe('api'), directory.endpoint('12.1', 'api', 4350)]
    cut()
    const state = () => runtime.observe().then(() => 'known', String)
    await expect.poll(state, { timeout: 30_000 }).toContain('in the cluster is not known')
    await expect(runtime.apply(workload([container('api')]))).rejects.toThrow('in the cluster is not known')
    expect(directory.endpoint('12.1', 'api', 4350)).toEqual(endpoint)
    const selector = ['-n', namespace, '-l', 'shoal.dev/container=processor']
    await kubectl(['delete', 'pods', ...selector, '--wait=false'])
    restore()
    await expect
      .poll(() => observe('processor').catch(() => null), { timeout: 90_000 })
      .toMatchObject({
        state: 'running',
        run: { ordinal: 1 },
        lastRun: { ordinal: 0, how: 'evicted' },
      })
    expect(await observe('api')).toEqual(api)
  })
})
