import { describe, expect, test } from 'vitest'
import { hasOwnNodes } from '../support/cluster-nodes.ts'
import { applyObjects, hasCluster, kubectl } from '../support/kubernetes.ts'
import { hasRegistry } from '../../scripts/registry.ts'
import { startPrivateRegistry } from '../support/private-registry.ts'
import { container, openDriver, workload } from './driver-harness.ts'

/** Returns a Docker configuration file with this password for the registry. */
const authOf = (host: string, password: string) =>
  JSON.stringify({ auths: { [host]: { auth: Buffer.from(`me:${password}`).toString('base64') } } })

describe.skipIf(!hasCluster || !hasOwnNodes || !hasRegistry)('a registry', () => {
  test('that refuses the credentials is named in the reason why the program does not start; the program starts after the credentials are corrected', async () => {
    const { host, image } = await startPrivateRegistry()
    const driver = await openDriver({ registryAuth: authOf(host, 'wrong-secret') })
    const desired = workload([container('api')], { image })
    await driver.runtime.apply(desired)
    const refused =
      /^Its image cannot be pulled, since the registry refuses the credentials of this installation: .*private\/pod/
    await driver.until('api', { state: 'starting', reason: expect.stringMatching(refused) })
    expect((await driver.observe('api'))?.reason).not.toContain('wrong-secret')
    await driver.restart({ registryAuth: authOf(host, 'a-password') })
    await driver.until('api', { state: 'running' })
  })
})

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
