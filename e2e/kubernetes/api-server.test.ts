import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServer, startApiServer } from '../../scripts/kubernetes/api-server.ts'
import { kubectl, podObject } from '../support/kubernetes.ts'

const kube = process.env['SHOAL_TEST_KUBE']

describe.skipIf(!kube)('an API server alone', () => {
  let api: ApiServer

  beforeAll(async () => {
    api = await startApiServer(kube ?? '')
  })

  afterAll(() => api.end())

  test('stores objects, applies changes to them, and returns their resource versions', async () => {
    const onServer = ['--kubeconfig', api.kubeconfig]
    const apply = (value: string) =>
      kubectl(
        [...onServer, 'apply', '--server-side', '--field-manager=shoal', '-f', '-'],
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' }, data: { value } }),
      )
    const read = async () => {
      const object = await kubectl([...onServer, 'get', 'configmap', 'one', '-o', 'json'])
      return JSON.parse(object) as { data: { value: string }; metadata: { resourceVersion: string } }
    }
    await apply('a')
    const before = await read()
    await apply('a')
    expect(await read()).toEqual(before)
    await apply('b')
    const after = await read()
    expect(after.data.value).toBe('b')
    expect(after.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion)
  })

  test('accepts pods, but does not run them', async () => {
    const onServer = ['--kubeconfig', api.kubeconfig]
    await kubectl([...onServer, 'create', '-f', '-'], JSON.stringify(podObject('default', 'one')))
    expect(await kubectl([...onServer, 'get', 'pod', 'one', '-o', 'jsonpath={.status.phase}'])).toBe('Pending')
  })

  test('removes its files when it ends', async () => {
    const other = await startApiServer(kube ?? '')
    await other.end()
    expect(existsSync(other.kubeconfig)).toBe(false)
    expect(other.processes.apiServer.signalCode).toBe('SIGKILL')
    await expect(fetch(other.url)).rejects.toThrow('fetch failed')
  })
})
