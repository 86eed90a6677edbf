import type { NewObject } from '../objects/object-types.ts'

/** A kind of object. `resource`: its name in paths. */
export type ObjectKind = { apiVersion: string; kind: string; resource: string; isNamespaced: boolean }

const kindList = (apiVersion: string, resources: Record<string, string>, isNamespaced = true): ObjectKind[] =>
  Object.entries(resources).map(([kind, resource]) => ({ apiVersion, kind, resource, isNamespaced }))

const all = [
  ...kindList('v1', { Namespace: 'namespaces', Node: 'nodes' }, false),
  ...kindList('v1', {
    ConfigMap: 'configmaps',
    Event: 'events',
    LimitRange: 'limitranges',
    Pod: 'pods',
    ResourceQuota: 'resourcequotas',
    Secret: 'secrets',
    ServiceAccount: 'serviceaccounts',
  }),
  ...kindList('apps/v1', { Deployment: 'deployments' }),
  ...kindList('batch/v1', { Job: 'jobs' }),
  ...kindList('networking.k8s.io/v1', { NetworkPolicy: 'networkpolicies' }),
  ...kindList('postgresql.cnpg.io/v1', { Cluster: 'clusters', ScheduledBackup: 'scheduledbackups' }),
]

/** @throws Error for a kind that Shoal does not use */
function kindNamed(name: string): ObjectKind {
  const kind = all.find((candidate) => candidate.kind === name)
  if (!kind) throw new Error(`Unknown kind of object: ${name}`)
  return kind
}

export const kinds = {
  configMap: kindNamed('ConfigMap'),
  deployment: kindNamed('Deployment'),
  event: kindNamed('Event'),
  job: kindNamed('Job'),
  namespace: kindNamed('Namespace'),
  node: kindNamed('Node'),
  pod: kindNamed('Pod'),
  postgresCluster: kindNamed('Cluster'),
  scheduledBackup: kindNamed('ScheduledBackup'),
  secret: kindNamed('Secret'),
}

export const kindOf = ({ kind }: NewObject): ObjectKind => kindNamed(kind)

/** Returns the path of an object, of all objects of a namespace, or of all objects. */
export function objectPath(
  { apiVersion, resource, isNamespaced }: ObjectKind,
  namespace?: string,
  name?: string,
): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const scope = isNamespaced && namespace !== undefined ? `/namespaces/${namespace}` : ''
  return `${group}${scope}/${resource}${name === undefined ? '' : `/${name}`}`
}
