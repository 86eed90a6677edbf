import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKubernetesDirectory, createKubernetesRuntime } from '@shoal/runtime'
import { describe, expect, onTestFinished, test } from 'vitest'
import { proxyApiServer } from '../support/api-server-proxy.ts'
import { applyObjects, createNamespace, hasCluster, kubectl } from '../support/kubernetes.ts'
import { container, driverOptions, openDriver, workload } from './driver-harness.ts'

/** Returns a kubeconfig with the token of a service account that has these rights in all namespaces. */
async function kubeconfigWith(rules: object[]): Promise<string> {
  const namespace = await createNamespace()
  const name = `shoal-test-${randomBytes(4).toString('hex')}`
  const rbac = 'rbac.authorization.k8s.io'
  await applyObjects(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } },
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace, name }],
    },
  )
  const token = await kubectl(['create', 'token', '-n', namespace, name])
  const config = JSON.parse(await kubectl(['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json'])) as {
    users: { user: object }[]
  }
  for (const entry of config.users) entry.user = { token }
  const folder = mkdtempSync(join(tmpdir(), 'kube-rights-'))
  onTestFinished(async () => {
    rmSync(folder, { recursive: true })
    await kubectl(['delete', 'clusterrole,clusterrolebinding', name])
  })
  writeFileSync(join(folder, 'config'), JSON.stringify(config))
  return join(folder, 'config')
}

const rule = (apiGroup: string, resources: string, verbs: string) => ({
  apiGroups: [apiGroup],
  resources: resources.split(' '),
  verbs: verbs.split(' '),
})

/** The rights of a worker, as docs/kubernetes.md lists them. */
const documentedRights = [
  rule('', 'namespaces', 'get list create patch delete'),
  rule('', 'nodes', 'list watch'),
  rule('', 'nodes/metrics', 'get'),
  rule('', 'events', 'get list watch'),
  rule('', 'configmaps', 'get list watch create patch delete'),
  rule('', 'pods', 'get list watch delete'),
  rule('', 'pods/log', 'get'),
  rule('', 'secrets', 'create patch delete'),
  rule('', 'serviceaccounts resourcequotas limitranges', 'create patch'),
  rule('apps', 'deployments', 'get list watch create patch delete'),
  rule('batch', 'jobs', 'get list watch create patch delete'),
  rule('networking.k8s.io', 'networkpolicies', 'create patch'),
]

describe.skipIf(!hasCluster)('the start of the driver', () => {
  test(
    'waits for an unreachable cluster, reports the problem, and continues when the cluster responds',
    { timeout: 300_000 },
    async () => {
      const { kubeconfig, cut, restore } = await proxyApiServer()
      const messages: string[] = []
      const options = driverOptions({ kubeconfig, log: (message) => messages.push(message) })
      cut()
      const runtime = createKubernetesRuntime(options)
      const directory = createKubernetesDirectory(options)
      onTestFinished(async () => {
        await directory.close()
        await runtime.close('keep')
        await kubectl(['delete', 'namespace', '-l', `shoal.dev/installation=${options.installation}`, '--wait=false'])
      })
      await Promise.all([runtime.start(), directory.start()])
      expect(messages[0]).toMatch(/API server at .* does not respond.*Shoal retries/)
      expect(directory.problem?.()).toBe('the cluster has not responded since this process was started')
      await expect(runtime.observe()).rejects.toThrow('in the cluster is not known')
      restore()
      await expect.poll(() => directory.problem?.(), { timeout: 60_000 }).toBeNull()
      await expect.poll(() => runtime.observe().catch(() => null), { timeout: 60_000 }).toEqual([])
      await runtime.apply(workload([container('api')]))
      await expect.poll(() => runtime.observe(), { timeout: 60_000 }).toMatchObject([{ state: 'running' }])
    },
  )

  test('lists the missing rights in one sentence', { timeout: 120_000 }, async () => {
    const rights = documentedRights.filter(({ resources }) => !resources.includes('jobs'))
    const readJobs = rule('batch', 'jobs', 'get list watch')
    const options = driverOptions({ kubeconfig: await kubeconfigWith([...rights, readJobs]) })
    const runtime = createKubernetesRuntime(options)
    onTestFinished(() => runtime.close('keep'))
    expect(await runtime.start()).toEqual([
      expect.stringMatching(/they must also permit .*: create jobs, patch jobs, delete jobs\.$/),
    ])
  })

  test('the documented rights are enough to run squids and to remove organizations', { timeout: 300_000 }, async () => {
    const kubeconfig = await kubeconfigWith(documentedRights)
    const { runtime, until, namespace } = await openDriver({ kubeconfig })
    await runtime.apply(workload([container('api'), container('processor')]))
    for (const name of ['api', 'processor']) await until(name, { state: 'running' })
    expect(await runtime.tail('12.1', 'api', 1)).toEqual(['listening'])
    await runtime.remove('12.1')
    await expect.poll(() => runtime.observe(), { timeout: 60_000 }).toEqual([])
    expect(await runtime.tenants()).toEqual(['7'])
    await runtime.removeTenant('7')
    expect(await runtime.tenants()).toEqual([])
    await kubectl(['wait', '--for=delete', `namespace/${namespace}`, '--timeout=60s'])
  })
})
