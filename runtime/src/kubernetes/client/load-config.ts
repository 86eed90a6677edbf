import type { KubeConfig } from '@kubernetes/client-node'

/**
 * Loads the configuration of the cluster from `file`; null: from KUBECONFIG, `~/.kube/config`, or the service account of this
 * process's pod. Only this function imports the library, which needs 90 MB of memory.
 * @throws Error when there is no valid configuration
 */
export async function loadKubeConfig(file: string | null): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  if (file !== null) config.loadFromFile(file)
  else config.loadFromDefault()
  return config
}
