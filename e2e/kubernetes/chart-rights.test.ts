import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createKubernetesDirectory, createKubernetesRuntime } from '@shoal/runtime'
import { Agent, fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiServer, startApiServer } from '../../scripts/kubernetes/api-server.ts'
import { missingHelm, runHelm, valuesOf, chart } from '../support/chart.ts'
import { kubectl, podObject } from '../support/kubernetes.ts'
import { until } from '../support/until.ts'
import { container, driverOptions, workload } from './driver-harness.ts'

const kube = process.env['SHOAL_TEST_KUBE']
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const restricted = { 'pod-security.kubernetes.io/enforce': 'restricted', 'app.kubernetes.io/managed-by': 'shoal' }
const secretValue = Buffer.from(randomBytes(8).toString('hex')).toString('base64')

const object = (apiVersion: string, kind: string, name: string, fields: object = {}) => ({
  apiVersion,
  kind,
  metadata: { name },
  ...fields,
})
const namespaceObject = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})

/** Returns a Job whose pod has a token of its service account, or none. */
const job = (hasToken: boolean) =>
  object('batch/v1', 'Job', 'one', {
    spec: {
      template: {
        spec: {
          restartPolicy: 'Never',
          automountServiceAccountToken: hasToken,
          containers: [{ name: 'main', image: 'example.com/one' }],
        },
      },
    },
  })

type Attempt = [what: string, method: string, path: string, body?: object]

/** Requests that no role may send. The objects that they name exist. */
const forbidden: Attempt[] = [
  ['read a Secret of another namespace', 'GET', '/api/v1/namespaces/victim/secrets/password'],
  ['list the Secrets of the cluster', 'GET', '/api/v1/secrets'],
  ['read a Secret of its own namespace', 'GET', '/api/v1/namespaces/shoal/secrets/shoal'],
  ['read a Secret through a PATCH without changes', 'PATCH', '/api/v1/namespaces/victim/secrets/password', {}],
  ['read a Secret through a dry run of a PATCH', 'PATCH', '/api/v1/namespaces/victim/secrets/password?dryRun=All', {}],
  ['delete a Secret', 'DELETE', '/api/v1/namespaces/victim/secrets/password'],
  [
    'create a Secret in another namespace',
    'POST',
    '/api/v1/namespaces/kube-system/secrets',
    object('v1', 'Secret', 'one'),
  ],
  ['create a Secret in its own namespace', 'POST', '/api/v1/namespaces/shoal/secrets', object('v1', 'Secret', 'one')],
  ['run a command in a pod', 'POST', '/api/v1/namespaces/victim/pods/one/exec?command=id&stdout=1'],
  ['attach to a pod', 'POST', '/api/v1/namespaces/victim/pods/one/attach?stdout=1'],
  ['forward a port of a pod', 'POST', '/api/v1/namespaces/victim/pods/one/portforward?ports=1'],
  ['add a container to a pod', 'PATCH', '/api/v1/namespaces/victim/pods/one/ephemeralcontainers', {}],
  ['delete a pod that it did not create', 'DELETE', '/api/v1/namespaces/victim/pods/one'],
  ['create a pod', 'POST', '/api/v1/namespaces/victim/pods', podObject('victim', 'two')],
  ['create a Job in another namespace', 'POST', '/apis/batch/v1/namespaces/victim/jobs', job(false)],
  ['create a Job with a token', 'POST', '/apis/batch/v1/namespaces/shoal-a1-o7/jobs', job(true)],
  ['use a kubelet through the API server', 'GET', '/api/v1/nodes/n1/proxy/pods'],
  ['change a node', 'PATCH', '/api/v1/nodes/n1', { metadata: { labels: { own: 'yes' } } }],
  ['extend its own role', 'PATCH', `${rbac}/clusterroles/shoal-shoal-worker`, { rules: [] }],
  [
    'create a role with all rights',
    'POST',
    `${rbac}/clusterroles`,
    object('rbac.authorization.k8s.io/v1', 'ClusterRole', 'all', {
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    }),
  ],
  [
    'bind itself to cluster-admin',
    'POST',
    `${rbac}/clusterrolebindings`,
    object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'all', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'shoal-worker', namespace: 'shoal' }],
    }),
  ],
  [
    'bind a role in a namespace of squids',
    'POST',
    `${rbac}/namespaces/shoal-a1-o7/rolebindings`,
    object('rbac.authorization.k8s.io/v1', 'RoleBinding', 'all', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    }),
  ],
  ['get a token of another account', 'POST', '/api/v1/namespaces/victim/serviceaccounts/one/token', {}],
  ['delete a namespace that it did not create', 'DELETE', '/api/v1/namespaces/victim'],
  ['delete its own namespace', 'DELETE', '/api/v1/namespaces/shoal'],
  ['take over a namespace', 'PATCH', '/api/v1/namespaces/victim', { metadata: { labels: restricted } }],
  [
    'take over a namespace with a name like those of squids',
    'PATCH',
    '/api/v1/namespaces/shoal-a2-o7',
    namespaceObject('shoal-a2-o7', restricted),
  ],
  [
    'create a Secret in a namespace with a name like those of squids',
    'POST',
    '/api/v1/namespaces/shoal-a2-o7/secrets',
    object('v1', 'Secret', 'one'),
  ],
  [
    'create a namespace with a name unlike those of squids',
    'POST',
    '/api/v1/namespaces',
    namespaceObject('other', restricted),
  ],
  ['create a namespace without Pod Security', 'POST', '/api/v1/namespaces', namespaceObject('shoal-a3-o7')],
  [
    'remove Pod Security from a namespace of squids',
    'PATCH',
    '/api/v1/namespaces/shoal-a1-o7',
    { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } },
  ],
  [
    'remove the policy that limits it',
    'DELETE',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/shoal-shoal-worker',
  ],
]

describe.skipIf(!kube || missingHelm !== null)('accounts of the chart', () => {
  let api: ApiServer
  let dispatcher: Agent
  const tokens: Record<string, string> = {}
  const asAdmin = (args: string[], input = '') => kubectl(['--kubeconfig', api.kubeconfig, ...args], input)

  beforeAll(async () => {
    api = await startApiServer(kube ?? '')
    dispatcher = new Agent({ connect: { ca: readFileSync(join(dirname(api.kubeconfig), 'ca.crt')) } })
    const { code, output } = await runHelm(['template', 'shoal', chart, '--namespace', 'shoal', ...valuesOf('minimal')])
    expect(code, output).toBe(0)
    const items = [
      ...['shoal', 'shoal-collector', 'victim', 'shoal-a2-o7'].map((name) => namespaceObject(name)),
      namespaceObject('shoal-a1-o7', restricted),
      {
        ...object('v1', 'Secret', 'password'),
        metadata: { name: 'password', namespace: 'victim' },
        data: { password: secretValue },
      },
      {
        ...object('v1', 'Secret', 'shoal'),
        metadata: { name: 'shoal', namespace: 'shoal' },
        data: { password: secretValue },
      },
      { ...object('v1', 'ServiceAccount', 'one'), metadata: { name: 'one', namespace: 'victim' } },
      object('v1', 'Node', 'n1'),
      podObject('victim', 'one'),
    ]
    await asAdmin(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    await asAdmin(['apply', '-f', '-'], output)
    for (const role of ['api', 'gateway', 'worker'])
      tokens[role] = await asAdmin(['create', 'token', `shoal-${role}`, '-n', 'shoal'])
    // The API server enforces a new policy only after a moment.
    const statusOfDelete = async () =>
      (await request('worker', 'DELETE', '/api/v1/namespaces/victim?dryRun=All')).status
    await until(async () => (await statusOfDelete()) === 403, 'the policy is enforced')
  }, 900_000)

  afterAll(async () => {
    await dispatcher?.close()
    await api?.end()
  })

  async function request(role: string, method: string, path: string, body?: object) {
    const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json'
    const response = await fetch(`${api.url}${path}`, {
      dispatcher,
      method,
      headers: { authorization: `Bearer ${tokens[role]}`, 'content-type': type },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: response.status, text: await response.text() }
  }

  const attempts = ['api', 'gateway', 'worker'].flatMap((role) =>
    forbidden.map(([what, method, path, body]) => ({ role, what, method, path, body })),
  )
  test.each(attempts)('the $role may not $what', async ({ role, method, path, body }) => {
    const { status, text } = await request(role, method, path, body)
    expect({ status, text }).toMatchObject({ status: 403 })
    expect(text).not.toContain(secretValue)
  })

  test('no account may act as another account', async () => {
    for (const role of ['api', 'gateway', 'worker']) {
      const headers = {
        authorization: `Bearer ${tokens[role]}`,
        'impersonate-user': 'admin',
        'impersonate-group': 'system:masters',
      }
      expect((await fetch(`${api.url}/api/v1/secrets`, { dispatcher, headers })).status).toBe(403)
    }
  })

  test('the api may read nothing, and a gateway may read only pods', async () => {
    const lists = ['pods', 'configmaps', 'nodes', 'namespaces', 'events', 'services', 'serviceaccounts']
    const statuses = async (role: string) =>
      await Promise.all(lists.map(async (list) => (await request(role, 'GET', `/api/v1/${list}`)).status))
    expect(await statuses('api')).toEqual(lists.map(() => 403))
    expect(await statuses('gateway')).toEqual([200, ...lists.slice(1).map(() => 403)])
  })

  test('the worker can run squids, and the gateway can resolve their addresses', async () => {
    const folder = dirname(api.kubeconfig)
    const config = JSON.parse(await asAdmin(['config', 'view', '--raw', '--flatten', '-o', 'json'])) as {
      users: { user: { token?: string | undefined } }[]
    }
    const kubeconfigOf = (role: string) => {
      for (const entry of config.users) entry.user = { token: tokens[role] }
      writeFileSync(join(folder, role), JSON.stringify(config), { mode: 0o600 })
      return join(folder, role)
    }
    const messages: string[] = []
    const options = driverOptions({ kubeconfig: kubeconfigOf('worker'), log: (message) => messages.push(message) })
    const runtime = createKubernetesRuntime(options)
    const directory = createKubernetesDirectory({ ...options, kubeconfig: kubeconfigOf('gateway') })
    try {
      expect(await runtime.start()).toEqual([])
      await directory.start()
      await runtime.apply(workload([container('api'), container('processor')]))
      const observed = await runtime.observe()
      expect(observed.map((observation) => observation.container).toSorted()).toEqual(['api', 'processor'])
      await runtime.remove('12.1')
      await runtime.removeTenant('7')
      expect(messages).toEqual([])
    } finally {
      await directory.close()
      await runtime.close('keep')
    }
  })
})
