import { MANAGER, labelValue, labels, namespaceOf } from '../names.ts'
import { type PolicyOptions, buildsPolicy, squidsPolicy } from './network-policy.ts'
import type { NewObject } from './object-types.ts'

export const SERVICE_ACCOUNT = 'squid'
export const PULL_SECRET = 'registry'

export type TenantOptions = Pick<PolicyOptions, 'ingressFrom' | 'egressTo'> & {
  installation: string
  /** The `hard` limits of the ResourceQuota, by their names in Kubernetes. */
  quota: Record<string, string>
  /** The content of a Docker configuration file with the credentials to pull images; null: none. */
  registryAuth: string | null
}

/** Ports of squids: GraphQL, metrics and Hasura. */
const PORTS = [4350, 3000, 8080]

/** Returns the namespace of a tenant and its shared objects, in the order in which they must be created. */
export function tenantObjects(options: TenantOptions, tenant: string): NewObject[] {
  const { installation, quota, registryAuth } = options
  const namespace = namespaceOf(installation, tenant)
  const tenantLabels = {
    [labels.managedBy]: MANAGER,
    [labels.installation]: labelValue(installation),
    [labels.tenant]: labelValue(tenant),
  }
  const metadata = (name: string) => ({ name, namespace, labels: tenantLabels })
  return [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: namespace,
        labels: {
          ...tenantLabels,
          'pod-security.kubernetes.io/enforce': 'restricted',
          'pod-security.kubernetes.io/warn': 'restricted',
        },
      },
    },
    // The policies must exist before the first pod does.
    squidsPolicy(metadata('squids'), { ...options, ports: PORTS }),
    buildsPolicy(metadata('builds')),
    { apiVersion: 'v1', kind: 'ResourceQuota', metadata: metadata('squids'), spec: { hard: quota } },
    {
      apiVersion: 'v1',
      kind: 'LimitRange',
      metadata: metadata('squids'),
      spec: {
        limits: [
          {
            type: 'Container',
            default: { cpu: '250m', memory: '256Mi' },
            defaultRequest: { cpu: '50m', memory: '256Mi' },
          },
        ],
      },
    },
    ...(registryAuth === null
      ? []
      : [
          {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: metadata(PULL_SECRET),
            type: 'kubernetes.io/dockerconfigjson',
            data: { '.dockerconfigjson': Buffer.from(registryAuth).toString('base64') },
          },
        ]),
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: metadata(SERVICE_ACCOUNT),
      automountServiceAccountToken: false,
      imagePullSecrets: registryAuth === null ? [] : [{ name: PULL_SECRET }],
    },
  ]
}
