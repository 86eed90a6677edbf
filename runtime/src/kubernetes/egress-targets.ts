import { resolveTargets } from '../process/network/addresses.ts'
import type { NetworkTarget } from '../process/network/network.ts'
import type { EgressTarget } from './objects/network-policy.ts'

/** `<service>.<namespace>.svc`, with or without the domain of the cluster. */
const SERVICE = /^[a-z0-9-]+\.([a-z0-9-]+)\.svc(\.|$)/

/**
 * Returns what pods may reach. For a service of the cluster, returns all pods of its namespace at the target's port, since network
 * policies apply to the pods behind a service, not to its address. Skips names without an IPv4 address.
 */
export async function egressTargets(targets: NetworkTarget[]): Promise<EgressTarget[]> {
  const services = targets.flatMap(({ host, port }) => {
    const [, namespace] = SERVICE.exec(host) ?? []
    return namespace === undefined ? [] : [{ namespace, port }]
  })
  const others = await resolveTargets(targets.filter(({ host }) => !SERVICE.test(host)))
  return [...others.map(({ cidr, port }) => ({ cidr, port })), ...services]
}
