import type { ContainerName, Observation, Restart } from '../../driver.ts'
import { annotations } from '../names.ts'
import type { ConfigMap, Deployment, Job, KubeObject, Pod } from '../objects/object-types.ts'
import { type DesiredWorkload, DESIRED, type AnchoredContainer } from '../objects/workload-objects.ts'
import { CreationPermits } from './creation-permits.ts'
import type { Nodes } from './nodes.ts'
import { observationOf } from './observation.ts'
import { type RunRecord, nextRecord, recordOfLostPod, vanishedRun } from './run-record.ts'

/**
 * The key of the anchor's data that contains the records of runs. The anchor is the ConfigMap that owns all other objects of the
 * workload.
 */
export const RUNS = 'runs'

export type Controller = Job | Deployment

/** All objects of one workload in the cluster, and the records of its runs. */
export class WorkloadState {
  readonly namespace: string
  readonly controllers = new Map<string, Controller>()
  readonly pods = new Map<string, Pod>()
  /** Why the cluster could not create a pod or an object of a container, by the name of its Job or Deployment. */
  readonly refusals = new Map<string, string>()
  records = new Map<ContainerName, RunRecord>()
  readonly permits = new CreationPermits()
  #anchor: ConfigMap | null = null
  #desired: DesiredWorkload | null = null
  #observations: Observation[] | null = null
  /**
   * The names of the Jobs and Deployments that `apply` last requested, or is requesting; null if this process has neither applied nor
   * recalled any. A desired state with another name was restored from a backup of the cluster.
   */
  #requested: Set<string> | null = null
  readonly #nodes: Nodes

  constructor(namespace: string, nodes: Nodes) {
    this.namespace = namespace
    this.#nodes = nodes
  }

  get anchor(): ConfigMap | null {
    return this.#anchor
  }

  /** The desired state; null while the workload is being removed. */
  get desired(): DesiredWorkload | null {
    return this.#anchor?.metadata.deletionTimestamp === undefined ? this.#desired : null
  }

  get isEmpty(): boolean {
    return this.#anchor === null && this.controllers.size === 0 && this.pods.size === 0
  }

  setAnchor(anchor: ConfigMap | null): void {
    // The stored records are read once: this process has written all later ones.
    if (anchor && anchor.metadata.uid !== this.#anchor?.metadata.uid) {
      const stored = anchor.data?.[RUNS] ?? '{}'
      this.records = new Map(Object.entries(JSON.parse(stored) as Record<string, RunRecord>))
    }
    this.#anchor = anchor
    this.#desired = anchor?.data?.[DESIRED] ? (JSON.parse(anchor.data[DESIRED]) as DesiredWorkload) : null
    this.invalidate()
  }

  setController(controller: Controller, isDeleted: boolean): void {
    const { name } = controller.metadata
    this.permits.change(controller, isDeleted)
    if (isDeleted) this.controllers.delete(name)
    else this.controllers.set(name, controller)
    if (isDeleted) this.refusals.delete(name)
    this.invalidate()
  }

  /**
   * Adds the names of the Jobs and Deployments that `apply` is about to request, so that its change of the anchor is not taken for an
   * earlier state that was restored.
   */
  addRequested(names: string[]): void {
    for (const name of names) this.#requested?.add(name)
  }

  /** Called with the names of the Jobs and Deployments that an earlier process applied last. */
  recallObjects(names: string[]): void {
    this.#requested ??= new Set(names)
    this.invalidate()
  }

  /** Called when `apply` has changed the anchor: permits the creation of the programs that do not exist. */
  permitCreation(): void {
    const names = (this.desired?.containers ?? []).map(({ object }) => object)
    this.#requested = new Set(names)
    for (const name of names) {
      const controller = this.controllers.get(name)
      if (!controller || controller.metadata.deletionTimestamp !== undefined) this.permits.permit(name)
    }
    this.invalidate()
  }

  /** Records a change of a pod. Returns whether the records of runs have changed. */
  setPod(pod: Pod, isDeleted: boolean, nowIso: string): boolean {
    if (isDeleted) this.pods.delete(pod.metadata.uid)
    else this.pods.set(pod.metadata.uid, pod)
    this.invalidate()
    const container = containerOf(pod)
    const before = this.records.get(container)
    const isOlder = before !== undefined && before.pod !== pod.metadata.uid && this.newestPod(container) !== pod
    if (isOlder) return false
    const isStopping = this.#isStopping(pod)
    const updated = nextRecord(before, pod, { restart: this.#restartOf(container), isStopping, nowIso })
    const after = isDeleted ? recordOfLostPod(updated, pod, isStopping, nowIso) : updated
    this.records.set(container, after)
    return JSON.stringify(before) !== JSON.stringify(after)
  }

  /**
   * Records the end of runs whose pods disappeared while no worker watched them. The cluster stopped these runs, since the pod
   * of a program that ends on its own remains; their exit codes are unknown. Called when all pods are known. Returns whether the records
   * have changed.
   */
  endVanishedRuns(nowIso: string): boolean {
    let hasChanged = false
    for (const [container, record] of this.records) {
      const last = [...this.pods.values()].some(({ metadata }) => metadata.uid === record.pod)
        ? null
        : vanishedRun(record, nowIso)
      if (!last) continue
      this.records.set(container, { ...record, last })
      hasChanged = true
    }
    if (hasChanged) this.invalidate()
    return hasChanged
  }

  /** Discards the computed observations. Must be called after a change of `records` or `refusals`. */
  invalidate(): void {
    this.#observations = null
  }

  observations(): Observation[] {
    this.#observations ??= this.#containers()
      .filter((container) => !this.#mustBeHidden(container))
      .map((container) => this.#observe(container))
    return this.#observations
  }

  /** Returns the newest pod of a container, preferably one that is not being deleted. */
  newestPod(container: ContainerName): Pod | undefined {
    const pods = [...this.pods.values()].filter((pod) => containerOf(pod) === container)
    return pods.reduce<Pod | undefined>((best, pod) => (best && !isPreferred(pod, best) ? best : pod), undefined)
  }

  /** Returns the pods of a container on hosts that do not respond. */
  lostPods(container: ContainerName): Pod[] {
    return [...this.pods.values()].filter((pod) => containerOf(pod) === container && this.#lostSince(pod) !== null)
  }

  /** Returns the Jobs and Deployments of a container, including those that are being deleted. */
  controllersOf(container: ContainerName): Controller[] {
    return [...this.controllers.values()].filter((controller) => containerOf(controller) === container)
  }

  desiredContainer(container: ContainerName): AnchoredContainer | undefined {
    return this.desired?.containers.find(({ name }) => name === container)
  }

  /** Returns the records of the runs of existing containers, to store them in the anchor. */
  storedRecords(): string {
    const names = new Set(this.#containers())
    return JSON.stringify(Object.fromEntries([...this.records].filter(([name]) => names.has(name))))
  }

  #containers(): ContainerName[] {
    const desired = (this.desired?.containers ?? []).map(({ name }) => name)
    const existing = [...this.controllers.values(), ...this.pods.values()].map(containerOf)
    return [...new Set([...desired, ...existing])]
  }

  /**
   * True for a processor that must not be observed, because the cluster's state was restored from a backup: its objects are missing
   * without a permit (see `CreationPermits`), or the anchor contains an older desired state than the one that was applied last. Names of
   * objects contain a hash of their specification, so the older state has other names.
   */
  #mustBeHidden(container: ContainerName): boolean {
    const spec = this.desiredContainer(container)
    if (spec?.restart !== 'on-failure') return false
    const exists = this.controllersOf(container).length > 0 || this.newestPod(container) !== undefined
    const isReverted = this.#requested?.has(spec.object) === false
    return isReverted || (!exists && !this.permits.has(spec))
  }

  #observe(container: ContainerName): Observation {
    const spec = this.desiredContainer(container)
    const controllers = this.controllersOf(container)
    const controller = controllers.find(({ metadata }) => metadata.name === spec?.object) ?? controllers[0]
    const pod = this.newestPod(container)
    return observationOf({
      workload: this.#workloadIdOf(container),
      container,
      restart: this.#restartOf(container),
      controller,
      pod,
      hostLostSince: pod ? this.#lostSince(pod) : null,
      record: this.records.get(container),
      refusal: this.refusals.get(spec?.object ?? controller?.metadata.name ?? '') ?? null,
      createdAt: this.#anchor?.metadata.creationTimestamp ?? new Date(0).toISOString(),
    })
  }

  #lostSince({ spec }: Pod): Date | null {
    return this.#nodes.lostSince(spec.nodeName)
  }

  #workloadIdOf(container: ContainerName): string {
    const object = this.controllersOf(container)[0] ?? this.newestPod(container)
    return this.#desired?.id ?? object?.metadata.annotations?.[annotations.workload] ?? ''
  }

  #restartOf(container: ContainerName): Restart {
    const desired = this.#desired?.containers.find(({ name }) => name === container)
    return desired?.restart ?? 'on-failure'
  }

  /** True if this driver removes the container of the pod or replaces it. */
  #isStopping(pod: Pod): boolean {
    if (pod.metadata.deletionTimestamp === undefined) return false
    const spec = this.desiredContainer(containerOf(pod))
    const controller = spec && this.controllers.get(spec.object)
    const owner = pod.metadata.ownerReferences?.[0]?.name ?? ''
    // The owner of a Deployment's pod is a ReplicaSet, whose name begins with the name of the Deployment.
    const isOwned = spec !== undefined && owner.startsWith(spec.object)
    return !isOwned || controller?.metadata.deletionTimestamp !== undefined
  }
}

/** The name of the container that an object belongs to, from an annotation, since labels cannot contain every name. */
export const containerOf = ({ metadata }: KubeObject): ContainerName =>
  metadata.annotations?.[annotations.container] ?? ''

function isPreferred(pod: Pod, other: Pod): boolean {
  const [isEnding, isOtherEnding] = [pod, other].map(({ metadata }) => metadata.deletionTimestamp !== undefined)
  if (isEnding !== isOtherEnding) return !isEnding
  return pod.metadata.creationTimestamp >= other.metadata.creationTimestamp
}
