import type { ContainerName, Directory, PortEndpoint, EndpointListener, WorkloadId } from '../driver.ts'
import { connectOrRetry } from './client/connect-or-retry.ts'
import { KubeClient } from './client/kube-client.ts'
import { kinds } from './client/kinds.ts'
import { loadKubeConfig } from './client/load-config.ts'
import { Watch } from './client/watch.ts'
import { annotations, labels } from './names.ts'
import type { Pod } from './objects/object-types.ts'
import { installationSelector } from './state/cluster-state.ts'
import { containerOf } from './state/workload-state.ts'

export type KubernetesDirectoryOptions = {
  installation: string
  /** Path of a kubeconfig; null: see `loadKubeConfig`. */
  kubeconfig: string | null
  /** Called with messages for operators. */
  log: (message: string) => void
}

/** Creates a directory that resolves ports to the addresses of pods. It needs only the rights to list and watch pods. */
export function createKubernetesDirectory(options: KubernetesDirectoryOptions): Directory {
  return new KubernetesDirectory(options)
}

class KubernetesDirectory implements Directory {
  readonly #options: KubernetesDirectoryOptions
  readonly #listeners = new Set<EndpointListener>()
  /** Pods by `<workload>/<container>` and uid. */
  readonly #pods = new Map<string, Map<string, Pod>>()
  readonly #closing = new AbortController()
  #hasListedPods = false
  #open: { client: KubeClient; watch: Watch<Pod> } | null = null

  constructor(options: KubernetesDirectoryOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { kubeconfig, installation, log } = this.#options
    const client = new KubeClient(await loadKubeConfig(kubeconfig))
    const watch = new Watch<Pod>({
      client,
      kind: kinds.pod,
      selector: { labelSelector: `${installationSelector(installation)},${labels.workload}` },
      onChange: (pod, isDeleted) => this.#change(pod, isDeleted),
    })
    this.#open = { client, watch }
    const connect = async () => {
      await watch.start()
      this.#hasListedPods = true
      return []
    }
    await connectOrRetry(connect, this.#closing.signal, log)
  }

  endpoint(id: WorkloadId, container: ContainerName, port: number): PortEndpoint | null {
    const pods = [...(this.#pods.get(`${id}/${container}`)?.values() ?? [])]
    const usable = pods.filter((pod) => isUsable(pod, port))
    const newest = usable.reduce<Pod | null>(
      (best, pod) => (best && createdAt(best) > createdAt(pod) ? best : pod),
      null,
    )
    return newest?.status?.podIP ? { kind: 'tcp', host: newest.status.podIP, port } : null
  }

  changed(listener: EndpointListener): () => void {
    const registered: EndpointListener = (...change) => listener(...change)
    this.#listeners.add(registered)
    return () => this.#listeners.delete(registered)
  }

  problem(): string | null {
    return this.#hasListedPods ? null : 'the cluster has not responded since this process was started'
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#open?.watch.close()
    this.#open?.client.close()
    this.#listeners.clear()
  }

  #change(pod: Pod, isDeleted: boolean): void {
    const workload = pod.metadata.annotations?.[annotations.workload] ?? ''
    const container = containerOf(pod)
    const key = `${workload}/${container}`
    const pods = this.#pods.get(key) ?? new Map<string, Pod>()
    const before = pods.get(pod.metadata.uid)
    if (isDeleted) pods.delete(pod.metadata.uid)
    else pods.set(pod.metadata.uid, pod)
    if (pods.size === 0) this.#pods.delete(key)
    else this.#pods.set(key, pods)
    if (connectionOf(before) !== connectionOf(isDeleted ? undefined : pod))
      for (const listener of this.#listeners) listener(workload, container)
  }
}

const createdAt = ({ metadata }: Pod): string => metadata.creationTimestamp

const isUsable = ({ metadata, spec, status }: Pod, port: number): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase === 'Running' &&
  spec.containers.some(({ ports = [] }) => ports.some(({ containerPort }) => containerPort === port))

/** Returns a text that changes with everything that affects connections to a pod: its address, and whether its program listens. */
function connectionOf(pod: Pod | undefined): string {
  if (!pod || pod.metadata.deletionTimestamp !== undefined) return ''
  const { phase, podIP, conditions = [], containerStatuses = [] } = pod.status ?? {}
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
  return [phase, podIP, isReady, containerStatuses[0]?.restartCount].join(' ')
}
