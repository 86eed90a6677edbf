import type { KubeConfig } from '@kubernetes/client-node'

/**
 * Loads the configuration of the cluster: the file, or if it is null, KUBECONFIG, `~/.kube/config`, or the service account of the pod
 * that this process runs in. The library is imported here only, as it takes 90 MB of memory.
 * @throws Error when there is no valid configuration
 */
export async function loadKubeConfig(file: string | null): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  if (file !== null) config.loadFromFile(file)
  else config.loadFromDefault()
  return config
}
