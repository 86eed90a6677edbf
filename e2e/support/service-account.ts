import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { applyObjects, createNamespace, kubectl } from './kubernetes.ts'

/** Rights: the verbs that are allowed for `resources` of an API group (`''` is the core group). */
export type Rights = { group: string; resources: string[]; verbs: string[] }[]

/** The rights with which a worker runs programs: a part of those in docs/kubernetes.md. */
export const workerRights: Rights = [
  { group: '', resources: ['namespaces'], verbs: ['get', 'create', 'patch'] },
  { group: '', resources: ['configmaps', 'pods', 'events', 'nodes'], verbs: ['get', 'list', 'watch'] },
  { group: 'batch', resources: ['jobs'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { group: 'apps', resources: ['deployments'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { group: '', resources: ['configmaps', 'secrets'], verbs: ['create', 'patch', 'delete'] },
  { group: '', resources: ['resourcequotas', 'limitranges', 'serviceaccounts'], verbs: ['create', 'patch'] },
  { group: 'networking.k8s.io', resources: ['networkpolicies'], verbs: ['create', 'patch'] },
  { group: '', resources: ['pods/log', 'nodes/metrics'], verbs: ['get'] },
]

/** Creates a service account with these rights in the whole cluster, until the end of the test. Returns the path of its kubeconfig. */
export async function createServiceAccount(rights: Rights): Promise<string> {
  const namespace = await createNamespace()
  const name = namespace
  const rules = rights.map(({ group, resources, verbs }) => ({ apiGroups: [group], resources, verbs }))
  const rbac = 'rbac.authorization.k8s.io'
  const role = { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules }
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  }
  await applyObjects({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }, role, binding)
  const token = await kubectl(['create', 'token', name, '-n', namespace])
  const view = await kubectl(['config', 'view', '--raw', '--flatten', '--minify', '-o', 'json'])
  const admin = JSON.parse(view) as { clusters: { name: string; cluster: object }[] }
  const cluster = admin.clusters[0]?.name ?? ''
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: admin.clusters,
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster, user: name } }],
    'current-context': name,
  }
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  writeFileSync(join(folder, 'config'), JSON.stringify(config), { mode: 0o600 })
  onTestFinished(async () => {
    rmSync(folder, { recursive: true, force: true })
    await kubectl(['delete', 'clusterrole,clusterrolebinding', name])
  })
  return join(folder, 'config')
}
