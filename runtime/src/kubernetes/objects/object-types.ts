/** The fields of Kubernetes objects that Shoal reads, as the API returns them in JSON. Times are in RFC 3339. */

export type OwnerReference = {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export type Metadata = {
  name: string
  namespace?: string
  uid: string
  resourceVersion: string
  creationTimestamp: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
}

export type KubeObject = { apiVersion?: string; kind?: string; metadata: Metadata }

/** An object to create or apply. */
export type NewObject = {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    ownerReferences?: OwnerReference[]
  }
  [field: string]: unknown
}

export type ConfigMap = KubeObject & { data?: Record<string, string> }

export type Condition = {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason?: string
  message?: string
  lastTransitionTime?: string
}

export type Node = KubeObject & { status?: { conditions?: Condition[] } }

export type Job = KubeObject & { status?: { conditions?: Condition[] } }
export type Deployment = KubeObject & { status?: { conditions?: Condition[] } }

export type Terminated = {
  exitCode: number
  reason?: string
  message?: string
  startedAt: string | null
  finishedAt: string | null
}

export type ContainerStatus = {
  name: string
  restartCount: number
  /** `containerd://<id>`, of the latest run. */
  containerID?: string
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: { startedAt: string }
    terminated?: Terminated
  }
  lastState?: { terminated?: Terminated }
}

export type Pod = KubeObject & {
  spec: {
    nodeName?: string
    containers: { name: string; ports?: { containerPort: number }[] }[]
  }
  status?: {
    phase?: string
    reason?: string
    message?: string
    podIP?: string
    /** The address of its node. */
    hostIP?: string
    conditions?: Condition[]
    initContainerStatuses?: ContainerStatus[]
    containerStatuses?: ContainerStatus[]
  }
}

export type Event = KubeObject & {
  reason?: string
  message?: string
  lastTimestamp?: string | null
  involvedObject: { kind: string; name: string; namespace?: string; uid?: string }
}
