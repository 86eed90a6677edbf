import type { RuntimeClock } from '../clock.ts'
import type { LogListenerOptions } from './logs/collected/log-listener.ts'
import type { TenantOptions } from './objects/tenant-objects.ts'
import type { WorkloadOptions } from './objects/workload-objects.ts'

export type KubernetesOptions = TenantOptions &
  WorkloadOptions & {
    /** Path of a kubeconfig; null: see `loadKubeConfig`. */
    kubeconfig: string | null
    /** File with the CA certificate that verifies the certificates of kubelets; null: the CA of the cluster. */
    kubeletCaFile: string | null
    /** Where collectors on the nodes send log lines; null: logs are read through the API server, and the last lines of deleted pods are lost. */
    logListener: LogListenerOptions | null
    /** Called with messages for operators. */
    log: (message: string) => void
    /** Default: the system clock. */
    clock?: RuntimeClock
  }
