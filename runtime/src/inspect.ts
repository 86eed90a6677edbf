import { credentialsFrom } from './images/registry/credentials.ts'
import { parseRegistry } from './images/registry/registry-address.ts'
import { RegistryClient } from './images/registry/registry-client.ts'
import type { RegistrySettings } from './images/image-registry.ts'
import { KubeClient } from './kubernetes/client/kube-client.ts'
import { loadKubeConfig } from './kubernetes/client/load-config.ts'
import { missingRights } from './kubernetes/client/rights.ts'
import { type HostOptions, prepareHost } from './process/host.ts'
import type { HostReport } from './process/host-report.ts'

/**
 * Detects the protections of squids on this host. Must not run while a worker uses the state directory, because it opens the recorded
 * networks.
 */
export async function inspectHost(options: HostOptions): Promise<HostReport> {
  return (await prepareHost(options)).report
}

/** Verifies that the registry responds and accepts the credentials. @throws Error with a sentence for the operator */
export async function inspectRegistry(
  { registry, authFile }: Pick<RegistrySettings, 'registry' | 'authFile'>,
  signal: AbortSignal,
): Promise<void> {
  await new RegistryClient(parseRegistry(registry), credentialsFrom(authFile)).check(signal)
}

/**
 * Returns what the credentials may not do in the cluster, as a sentence; null if nothing is missing. @throws ClusterUnreachable,
 * KubeError
 */
export async function inspectCluster(kubeconfig: string | null): Promise<string | null> {
  const client = new KubeClient(await loadKubeConfig(kubeconfig))
  try {
    return await missingRights(client)
  } finally {
    client.close()
  }
}
