import type { KubeClient } from './kube-client.ts'

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

/** What a role may do with a resource of the cluster, in all namespaces. */
type Right = { group: string; resource: string; subresource?: string; verbs: string[] }

const changes = ['create', 'patch']

/** The rights that a gateway needs in a cluster. */
export const gatewayRights: Right[] = [{ group: '', resource: 'pods', verbs: ['list', 'watch'] }]

/** The rights that the worker needs in a cluster, as listed in docs/kubernetes.md. */
export const workerRights: Right[] = [
  { group: '', resource: 'namespaces', verbs: ['list', ...changes, 'delete'] },
  { group: '', resource: 'nodes', verbs: ['list', 'watch'] },
  { group: '', resource: 'nodes', subresource: 'metrics', verbs: ['get'] },
  { group: '', resource: 'configmaps', verbs: ['list', 'watch', ...changes, 'delete'] },
  { group: '', resource: 'pods', verbs: ['list', 'watch', 'delete'] },
  { group: '', resource: 'pods', subresource: 'log', verbs: ['get'] },
  { group: '', resource: 'events', verbs: ['list', 'watch'] },
  { group: '', resource: 'secrets', verbs: [...changes, 'delete'] },
  { group: '', resource: 'serviceaccounts', verbs: changes },
  { group: '', resource: 'resourcequotas', verbs: changes },
  { group: '', resource: 'limitranges', verbs: changes },
  { group: 'apps', resource: 'deployments', verbs: ['list', 'watch', ...changes, 'delete'] },
  { group: 'batch', resource: 'jobs', verbs: ['list', 'watch', ...changes, 'delete'] },
  { group: 'networking.k8s.io', resource: 'networkpolicies', verbs: changes },
]

/** Returns a sentence that lists the missing rights of the credentials; null if none is missing. @throws ClusterUnreachable, KubeError */
export async function missingRights(client: KubeClient): Promise<string | null> {
  const reviews = workerRights.flatMap(({ verbs, ...of }) => verbs.map((verb) => ({ verb, ...of })))
  const results = await Promise.all(
    reviews.map(async (attributes) => {
      const body = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: attributes },
      }
      const { status } = await client.review<{ status: { allowed: boolean } }>(REVIEWS, body)
      return { ...attributes, isAllowed: status.allowed }
    }),
  )
  const missing = results.filter(({ isAllowed }) => !isAllowed)
  if (missing.length === 0) return null
  const nameOf = ({ resource, subresource }: Omit<Right, 'verbs'>) =>
    subresource ? `${resource}/${subresource}` : resource
  const list = missing.map((right) => `${right.verb} ${nameOf(right)}`).join(', ')
  return `The credentials for the cluster are not sufficient to run squids. In all namespaces, they must also permit (see "Rights" in docs/kubernetes.md): ${list}.`
}
