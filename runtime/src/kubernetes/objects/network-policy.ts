import { isIPv6 } from 'node:net'
import { PRIVATE_RANGES } from '../../process/network/addresses.ts'
import { labels } from '../names.ts'
import type { NewObject } from './object-types.ts'

/** An address range, or the pods of a namespace, that squids may reach; `port` null: every port and protocol. */
export type EgressTarget = ({ cidr: string } | { namespace: string }) & { port: number | null }

/** The permitted sources of connections to squids: the pods of a namespace, or addresses. */
export type IngressSource = { namespace: string } | { cidr: string }

/** IPv6 ranges that are not on the public internet: loopback, unique local, link-local and multicast addresses. */
const PRIVATE_RANGES_6 = ['::1/128', 'fc00::/7', 'fe80::/10', 'ff00::/8']

export type PolicyOptions = {
  ingressFrom: IngressSource[]
  egressTo: EgressTarget[]
  /** The ports of squids. */
  ports: number[]
}

/**
 * Returns the policy of the squids in a tenant's namespace: pods accept connections only from the gateway, and reach only DNS,
 * `egressTo` and the public internet. Everything else is denied, including connections to other pods of the same tenant.
 */
export function squidsPolicy(
  metadata: NewObject['metadata'],
  { ingressFrom, egressTo, ports }: PolicyOptions,
): NewObject {
  const tcp = ports.map((port) => ({ port, protocol: 'TCP' }))
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata,
    spec: {
      // Pods without labels are selected, too, so that a policy applies to every pod.
      podSelector: { matchExpressions: [{ key: labels.build, operator: 'DoesNotExist' }] },
      policyTypes: ['Ingress', 'Egress'],
      // A rule without peers would allow every source.
      ingress: ingressFrom.length === 0 ? [] : [{ from: ingressFrom.map(peerOf), ports: tcp }],
      egress: [...publicRules, ...egressTo.map(targetRule)],
    },
  }
}

/** Returns the policy of all builds of a tenant: they accept no connections, and reach only DNS and the public internet. */
export const buildsPolicy = (metadata: NewObject['metadata']): NewObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata,
  spec: {
    podSelector: { matchExpressions: [{ key: labels.build, operator: 'Exists' }] },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [],
    egress: publicRules,
  },
})

/** Returns a policy that adds what one build may reach. Until it exists, the policy of all builds applies. */
export const buildTargetsPolicy = (
  metadata: NewObject['metadata'],
  podLabels: Record<string, string>,
  egressTo: EgressTarget[],
): NewObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata,
  spec: { podSelector: { matchLabels: podLabels }, policyTypes: ['Egress'], egress: egressTo.map(targetRule) },
})

const publicRules = [
  {
    to: [{ namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }],
    ports: [
      { port: 53, protocol: 'UDP' },
      { port: 53, protocol: 'TCP' },
    ],
  },
  {
    to: [
      { ipBlock: { cidr: '0.0.0.0/0', except: PRIVATE_RANGES } },
      { ipBlock: { cidr: '::/0', except: PRIVATE_RANGES_6 } },
    ],
  },
]

const targetRule = ({ port, ...target }: EgressTarget) => ({
  to: [peerOf(target)],
  ...(port === null ? {} : { ports: [{ port, protocol: 'TCP' }] }),
})

const peerOf = (source: IngressSource) =>
  'cidr' in source
    ? ipBlock(source.cidr)
    : { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': source.namespace } } }

/** Matches a range, or a single address. */
const ipBlock = (cidr: string) => ({
  ipBlock: { cidr: cidr.includes('/') ? cidr : `${cidr}/${isIPv6(cidr) ? 128 : 32}` },
})
