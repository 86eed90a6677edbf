import { describe, expect, test } from 'vitest'
import { applyObjects, hasCluster, kubectl } from '../support/kubernetes.ts'
import { container, openDriver, workload } from './driver-harness.ts'

describe.skipIf(!hasCluster)('a namespace that was deleted', () => {
  test(
    'is named in the error while it is being deleted, and created again afterwards',
    { timeout: 300_000 },
    async () => {
      const { runtime, until, namespace } = await openDriver()
      const desired = workload([container('api')])
      await runtime.apply(desired)
      await until('api', { state: 'running' })
      const holder = (finalizers: string[]) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace, name: 'holder', finalizers },
      })
      await applyObjects(holder(['shoal.dev/test']))
      await kubectl(['delete', 'namespace', namespace, '--wait=false'])
      await expect.poll(() => runtime.observe(), { timeout: 120_000 }).toEqual([])
      await expect(runtime.apply(desired)).rejects.toThrow(
        `The namespace ${namespace} of the organization is being deleted in the cluster. Try again when it no longer exists.`,
      )
      await kubectl(['patch', 'configmap', '-n', namespace, 'holder', '-p', '{"metadata":{"finalizers":null}}'])
      await kubectl(['wait', '--for=delete', `namespace/${namespace}`, '--timeout=60s'])
      await runtime.apply(desired)
      await until('api', { state: 'running', run: { ordinal: 0 } })
    },
  )
})
