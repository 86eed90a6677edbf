import { type Server, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  applyObjects,
  canConnect,
  createNamespace,
  hasCluster,
  kubectl,
  nodeNames,
  podObject,
  startPods,
  tryKubectl,
} from '../support/kubernetes.ts'

const hostAddress = process.env['SHOAL_TEST_HOST_ADDRESS']

/** Accepts connections on this host's address in the cluster's network, until the end of the test. Returns `host:port`. */
async function listenOnHost(): Promise<string> {
  const server: Server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, hostAddress, resolve))
  onTestFinished(() => {
    server.close()
  })
  const address = server.address()
  return `${hostAddress}:${typeof address === 'object' ? address?.port : ''}`
}

function policy(namespace: string, spec: object): object {
  const metadata = { namespace, name: 'tenant' }
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec }
}

/** The spec of a policy that allows connections only within the namespace, in both directions. */
const withinNamespace = {
  podSelector: {},
  policyTypes: ['Ingress', 'Egress'],
  ingress: [{ from: [{ podSelector: {} }] }],
  egress: [{ to: [{ podSelector: {} }] }],
}

describe.skipIf(!hasCluster)('a cluster', () => {
  test('runs pods on each node, and the pods respond at their addresses', async () => {
    const [first, second] = await nodeNames()
    expect(second, 'the cluster needs two nodes').toBeDefined()
    const namespace = await createNamespace()
    const addresses = await startPods(namespace, { one: { node: first }, two: { node: second } })
    const get = (pod: string, url: string) => kubectl(['exec', '-n', namespace, pod, '--', '/pod', 'get', url])
    expect(await get('one', `http://${addresses['two']}:8080`)).toBe('two')
    expect(await get('two', `http://${addresses['one']}:8080`)).toBe('one')
  })

  test.skipIf(!hostAddress)('has pods that this host can reach, and that can reach this host', async () => {
    const namespace = await createNamespace()
    const { web } = await startPods(namespace, { web: {} })
    const response = await fetch(`http://${web}:8080`)
    expect((await response.text()).trim()).toBe('web')
    expect(await canConnect(namespace, 'web', await listenOnHost())).toBe(true)
  })

  test('refuses a privileged pod in a namespace with the Pod Security level "restricted"', async () => {
    const namespace = await createNamespace({ 'pod-security.kubernetes.io/enforce': 'restricted' })
    const create = (name: string, isPrivileged: boolean) =>
      tryKubectl(['create', '-f', '-'], JSON.stringify(podObject(namespace, name, { isPrivileged })))
    const { code, output } = await create('privileged', true)
    expect(code).toBe(1)
    expect(output).toContain('violates PodSecurity "restricted:latest": privileged')
    expect(await create('ordinary', false)).toMatchObject({ code: 0 })
    await kubectl(['wait', '-n', namespace, '--for=condition=Ready', '--timeout=60s', 'pod/ordinary'])
  })

  test('enforces the policy of a namespace for connections from the same node and from the other node', async () => {
    const [first, second] = await nodeNames()
    const tenant = await createNamespace()
    const outsider = await createNamespace()
    const inside = await startPods(tenant, { web: { node: first }, near: { node: first }, far: { node: second } })
    const outside = await startPods(outsider, { near: { node: first }, far: { node: second } })
    const web = `${inside['web']}:8080`
    expect(await canConnect(outsider, 'near', web)).toBe(true)
    expect(await canConnect(outsider, 'far', web)).toBe(true)
    await applyObjects(policy(tenant, withinNamespace))
    await expect.poll(() => canConnect(outsider, 'near', web)).toBe(false)
    await expect.poll(() => canConnect(outsider, 'far', web)).toBe(false)
    expect(await canConnect(tenant, 'near', web)).toBe(true)
    expect(await canConnect(tenant, 'far', web)).toBe(true)
    expect(await canConnect(tenant, 'web', `${outside['near']}:8080`)).toBe(false)
    expect(await canConnect(tenant, 'web', `${outside['far']}:8080`)).toBe(false)
    expect(await canConnect(outsider, 'near', `${outside['far']}:8080`)).toBe(true)
  })

  test.skipIf(!hostAddress)('keeps isolated pods from the host, the nodes and the API server', async () => {
    const [first] = await nodeNames()
    const tenant = await createNamespace()
    const outsider = await createNamespace()
    await startPods(tenant, { web: { node: first } })
    await startPods(outsider, { web: { node: first } })
    await applyObjects(policy(tenant, withinNamespace))
    // The host, the kubelets of both nodes, and the address and the Service of the API server.
    const targets = [await listenOnHost(), '10.90.0.11:10250', '10.90.0.12:10250', '10.90.0.1:6443', '10.96.0.1:443']
    for (const target of targets) {
      expect(await canConnect(outsider, 'web', target), `${target} without a policy`).toBe(true)
      await expect.poll(() => canConnect(tenant, 'web', target), { message: target }).toBe(false)
    }
  })
})
