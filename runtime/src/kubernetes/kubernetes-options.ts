import type { Clock } from '../clock.ts'
import type { LogListenerOptions } from './logs/collected/log-listener.ts'
import type { TenantOptions } from './objects/tenant-objects.ts'
import type { WorkloadOptions } from './objects/workload-objects.ts'

export type KubernetesOptions = TenantOptions &
  WorkloadOptions & {
    /** Path of a kubeconfig; null: see `loadKubeConfig`. */
    kubeconfig: string | null
    /** File with the authority of the kubelets' certificates; null: that of the cluster. */
    kubeletCaFile: string | null
    /** Where collectors on the nodes send the lines of logs; null: logs are read through the API server, and the last lines of deleted pods are lost. */
    logListener: LogListenerOptions | null
    /** For operators. */
    log: (message: string) => void
    /** Default: the clock of the machine. */
    clock?: Clock
  }
