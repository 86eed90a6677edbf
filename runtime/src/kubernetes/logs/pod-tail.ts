import type { ContainerName } from '../../driver.ts'
import type { KubeClient } from '../client/kube-client.ts'
import { KubeError } from '../client/kube-error.ts'
import { kinds, objectPath } from '../client/kinds.ts'
import { podContainerName } from '../names.ts'
import type { Pod } from '../objects/object-types.ts'

const MAX_TAIL_BYTES = 1024 * 1024

/** Returns the last `lines` lines of the latest run of a pod, oldest first. @throws ClusterUnreachable */
export async function readPodTail(
  client: KubeClient,
  { metadata }: Pod,
  container: ContainerName,
  lines: number,
): Promise<string[]> {
  const path = `${objectPath(kinds.pod, metadata.namespace, metadata.name)}/log`
  const query = {
    container: podContainerName(container),
    tailLines: String(lines),
    limitBytes: String(MAX_TAIL_BYTES),
  }
  try {
    const text = await client.readText(path, query)
    return text === '' ? [] : text.replace(/\n$/, '').split('\n')
  } catch (error) {
    // The container has not started yet, or its pod no longer exists.
    if (error instanceof KubeError) return []
    throw error
  }
}
