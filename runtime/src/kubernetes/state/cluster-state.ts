import type { KubeClient } from '../client/kube-client.ts'
import { kinds } from '../client/kinds.ts'
import { Watch } from '../client/watch.ts'
import type { RuntimeClock } from '../../clock.ts'
import { MANAGER, labelValue, labels, anchorName, namespaceOf } from '../names.ts'
import type { ConfigMap, Deployment, Event, Job, KubeObject, Node, Pod } from '../objects/object-types.ts'
import type { DesiredWorkload } from '../objects/workload-objects.ts'
import { Nodes } from './nodes.ts'
import { WorkloadState } from './workload-state.ts'

export type ClusterStateOptions = {
  client: KubeClient
  installation: string
  clock: RuntimeClock
  log: (message: string) => void
  /** Called for each workload when all objects are known for the first time, and after each later change of its objects. */
  onChange: (workload: WorkloadState) => void
  /** Called when the records of runs of a workload have changed. */
  onRun: (workload: WorkloadState) => void
}

/** Selects all objects of an installation. */
export const installationSelector = (installation: string): string =>
  `${labels.managedBy}=${MANAGER},${labels.installation}=${labelValue(installation)}`

/** The objects of all workloads of an installation, kept up to date by watches. */
export class ClusterState {
  readonly #options: ClusterStateOptions
  readonly #workloads = new Map<string, WorkloadState>()
  /** The keys of `#workloads` by the label of the workload. */
  readonly #keys = new Map<string, string>()
  /** The names of the Jobs and Deployments that earlier processes applied, by workload. */
  readonly #recalled = new Map<string, string[]>()
  readonly #anchors: Watch<ConfigMap>
  readonly #nodes: Nodes
  readonly #startedWatches = new Set<Watch<KubeObject>>()
  readonly #watches: Watch<KubeObject>[]
  #isComplete = false
  #interruptedAt = -Infinity

  constructor(options: ClusterStateOptions) {
    this.#options = options
    const { client, installation, clock } = options
    this.#nodes = new Nodes(clock)
    const selector = { labelSelector: `${installationSelector(installation)},${labels.workload}` }
    const onInterrupt = (reason: string) => this.#reportInterrupt(reason)
    const shared = { client, selector, onInterrupt }
    this.#anchors = new Watch<ConfigMap>({
      ...shared,
      kind: kinds.configMap,
      onChange: (anchor, isDeleted) => this.#change(anchor, (state) => state.setAnchor(isDeleted ? null : anchor)),
    })
    const onController = (controller: Job | Deployment, isDeleted: boolean) =>
      this.#change(controller, (state) => state.setController(controller, isDeleted))
    // In this order: to record the run of a pod, the state needs the records in the anchor, and the controller, which shows whether
    // the pod is being stopped.
    this.#watches = [
      new Watch<Node>({
        client,
        onInterrupt,
        kind: kinds.node,
        selector: {},
        onChange: (node, isDeleted) => this.#changeNode(node, isDeleted),
      }),
      this.#anchors,
      new Watch<Job>({ ...shared, kind: kinds.job, onChange: onController }),
      new Watch<Deployment>({ ...shared, kind: kinds.deployment, onChange: onController }),
      new Watch<Pod>({
        ...shared,
        kind: kinds.pod,
        onChange: (pod, isDeleted) => this.#changePod(pod, isDeleted),
      }),
      // Only events report an exceeded quota. Events have no labels, so the watch includes those of other programs.
      new Watch<Event>({
        client,
        onInterrupt,
        kind: kinds.event,
        selector: { fieldSelector: 'involvedObject.kind=Job,reason=FailedCreate' },
        onChange: (event, isDeleted) => isDeleted || this.#addRefusal(event),
      }),
    ] as Watch<KubeObject>[]
  }

  get workloads(): Iterable<WorkloadState> {
    return this.#workloads.values()
  }

  /** Lists all objects and begins to watch them. After an error, another call continues. @throws ClusterUnreachable, KubeError */
  async start(): Promise<void> {
    for (const watch of this.#watches) {
      if (this.#startedWatches.has(watch)) continue
      await watch.start()
      this.#startedWatches.add(watch)
    }
    const nowIso = this.#options.clock.now().toISOString()
    this.#isComplete = true
    for (const workload of this.#workloads.values()) {
      if (workload.endVanishedRuns(nowIso)) this.#options.onRun(workload)
      this.#options.onChange(workload)
    }
  }

  /** Waits until all objects are known. @throws ClusterUnreachable */
  async waitUntilCurrent(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.waitForVersion()))
  }

  /** Waits until the change of an anchor (the ConfigMap of a workload) is known. @throws ClusterUnreachable */
  async waitForAnchor({ metadata }: KubeObject): Promise<void> {
    await this.#anchors.waitForVersion(metadata.resourceVersion)
  }

  /** Returns the workload; undefined if the cluster has no object of it. */
  find(tenant: string, id: string): WorkloadState | undefined {
    return this.#workloads.get(this.#keyOf({ tenant, id }))
  }

  /** Records what an earlier process applied last, even if the objects of the workload are not known yet. */
  recall({ tenant, id, containers }: DesiredWorkload): void {
    const key = this.#keyOf({ tenant, id })
    const names = containers.map(({ object }) => object)
    this.#recalled.set(key, names)
    this.#workloads.get(key)?.recallObjects(names)
  }

  /** Returns the workload with this id, of any tenant. */
  findById(id: string): WorkloadState | undefined {
    const key = this.#keys.get(labelValue(id))
    return key === undefined ? undefined : this.#workloads.get(key)
  }

  anchorOf(tenant: string, id: string): ConfigMap | undefined {
    return this.#anchors.get(namespaceOf(this.#options.installation, tenant), anchorName(id))
  }

  async close(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.close()))
  }

  #changePod(pod: Pod, isDeleted: boolean): void {
    const nowIso = this.#options.clock.now().toISOString()
    let hasNewRun = false
    const state = this.#change(pod, (workload) => {
      hasNewRun = workload.setPod(pod, isDeleted, nowIso)
    })
    if (state && hasNewRun) this.#options.onRun(state)
  }

  #change(object: KubeObject, change: (state: WorkloadState) => void): WorkloadState | null {
    const { namespace = '', labels: own = {} } = object.metadata
    const label = own[labels.workload] ?? ''
    const key = `${namespace}/${label}`
    const state = this.#workloads.get(key) ?? this.#newWorkload(namespace, key)
    change(state)
    if (state.isEmpty) {
      this.#workloads.delete(key)
      this.#recalled.delete(key)
      if (this.#keys.get(label) === key) this.#keys.delete(label)
    } else {
      this.#workloads.set(key, state)
      this.#keys.set(label, key)
    }
    // While the objects of some kinds are not known, programs seem to be missing, and the driver would look for the pods of each of them.
    if (this.#isComplete) this.#options.onChange(state)
    return state.isEmpty ? null : state
  }

  #newWorkload(namespace: string, key: string): WorkloadState {
    const state = new WorkloadState(namespace, this.#nodes)
    const recalled = this.#recalled.get(key)
    if (recalled) state.recallObjects(recalled)
    return state
  }

  #keyOf({ tenant, id }: Pick<DesiredWorkload, 'tenant' | 'id'>): string {
    return `${namespaceOf(this.#options.installation, tenant)}/${labelValue(id)}`
  }

  #changeNode(node: Node, isDeleted: boolean): void {
    if (!this.#nodes.change(node, isDeleted)) return
    for (const state of this.#workloads.values()) state.invalidate()
  }

  #addRefusal({ involvedObject: { namespace, name }, message }: Event): void {
    for (const state of this.#workloads.values()) {
      if (state.namespace !== namespace || !state.controllers.has(name)) continue
      state.refusals.set(name, message ?? '')
      state.invalidate()
    }
  }

  /** Logs an interruption unless there was one in the last minute, since all watches are interrupted together. */
  #reportInterrupt(reason: string): void {
    const nowMs = performance.now()
    if (nowMs - this.#interruptedAt > 60_000)
      this.#options.log(`The connection to the cluster was interrupted: ${reason}`)
    this.#interruptedAt = nowMs
  }
}
