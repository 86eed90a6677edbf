import type { ContainerName } from '../driver.ts'
import type { KubeClient } from './client/kube-client.ts'
import { KubeError } from './client/kube-error.ts'
import { kinds } from './client/kinds.ts'
import { labelValue, labels } from './names.ts'
import {
  type AnchoredContainer,
  type DesiredWorkload,
  type WorkloadOptions,
  programObject,
} from './objects/workload-objects.ts'
import { wasInterrupted } from './state/run-record.ts'
import { type Controller, type WorkloadState, containerOf } from './state/workload-state.ts'

/**
 * Makes the Jobs and Deployments of a workload match the desired state, as far as currently possible: deletes those that are not desired,
 * and creates missing ones whose predecessors have ended. Called again after each change of the workload's objects.
 * @returns false if the cluster refused to create an object, so that the caller must try again
 * @throws KubeError, ClusterUnreachable
 */
export async function reconcilePrograms(
  client: KubeClient,
  options: WorkloadOptions,
  state: WorkloadState,
): Promise<boolean> {
  const { desired, anchor } = state
  if (!desired || !anchor) return true
  const names = new Set(desired.containers.map(({ object }) => object))
  for (const controller of state.controllers.values())
    if (!names.has(controller.metadata.name)) await deleteProgram(client, controller)
  for (const { name, object } of desired.containers) {
    const controller = state.controllers.get(object)
    if (controller && hasEnded(controller) && wasInterrupted(state.records.get(name)))
      await restartController(client, state, controller)
  }
  let isComplete = true
  for (const spec of desired.containers)
    isComplete =
      (await createProgram(client, options, state, { desired, spec, uid: anchor.metadata.uid })) && isComplete
  return isComplete
}

/** True for a Job that starts no more pods. */
const hasEnded = ({ metadata, status }: Controller): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status?.conditions ?? []).some(
    ({ type, status: value }) => (type === 'Complete' || type === 'Failed') && value === 'True',
  )

/** Deletes a Job or Deployment, and the Secret with its environment. */
async function deleteProgram(client: KubeClient, controller: Controller): Promise<void> {
  const { name, namespace, deletionTimestamp } = controller.metadata
  if (deletionTimestamp !== undefined) return
  await deleteController(client, controller)
  await client.delete(kinds.secret, namespace, name)
}

/** Deletes a Job or Deployment. The next reconciliation creates it again, when all its pods have ended. */
export async function restartController(
  client: KubeClient,
  state: WorkloadState,
  controller: Controller,
): Promise<void> {
  state.permits.permitRestart(controller)
  await deleteController(client, controller)
}

/** Deletes a Job or Deployment; it exists until all its pods have ended. */
async function deleteController(client: KubeClient, controller: Controller): Promise<void> {
  const { name, namespace } = controller.metadata
  // Objects from a list have no `kind`.
  const isDeployment = 'replicas' in ((controller as { spec?: object }).spec ?? {})
  await client.delete(isDeployment ? kinds.deployment : kinds.job, namespace, name)
}

/**
 * Deletes the pods of a container on hosts that do not respond, and their Jobs, without waiting for the hosts. A host that responds again
 * ends their programs. `reconcilePrograms` creates the replacement when these objects no longer exist.
 */
export async function abandonLostPods(
  client: KubeClient,
  state: WorkloadState,
  container: ContainerName,
): Promise<void> {
  const lost = state.lostPods(container)
  const owners = new Set(lost.flatMap(({ metadata }) => metadata.ownerReferences ?? []).map(({ name }) => name))
  // First the Jobs, which would create other pods with the same environment. `Background`: the deletion does not wait for the pods.
  for (const controller of state.controllers.values()) {
    const { name, namespace } = controller.metadata
    if (!owners.has(name)) continue
    state.permits.permitRestart(controller)
    await client.delete(kinds.job, namespace, name, { propagationPolicy: 'Background' })
  }
  for (const { metadata } of lost)
    await client.delete(kinds.pod, metadata.namespace, metadata.name, { gracePeriodSeconds: 0 })
}

type Program = { desired: DesiredWorkload; spec: AnchoredContainer; uid: string }

/** Creates a program unless it exists. Returns false if the cluster refused it. */
async function createProgram(
  client: KubeClient,
  options: WorkloadOptions,
  state: WorkloadState,
  { desired, spec, uid }: Program,
): Promise<boolean> {
  if (state.controllersOf(spec.name).length > 0 || state.newestPod(spec.name)) return true
  if (!state.permits.has(spec)) return true
  // A controller may have created a pod that the watch has not reported yet.
  const labelSelector = `${labels.workload}=${labelValue(desired.id)},${labels.container}=${labelValue(spec.name)}`
  const { items } = await client.list(kinds.pod, { labelSelector }, state.namespace)
  if (items.some((pod) => containerOf(pod) === spec.name)) return true
  try {
    const created = await client.create<Controller>(programObject(options, desired, spec, uid))
    state.refusals.delete(spec.object)
    // Recorded before the watch reports it, so that it is known even if the workload is removed immediately.
    state.setController(created, false)
    return true
  } catch (error) {
    if (error instanceof KubeError && error.reason === 'AlreadyExists') return true
    // A quota or a policy of the cluster forbids it. Users see the reason.
    if (!(error instanceof KubeError) || error.status !== 403) throw error
    state.refusals.set(spec.object, error.message)
    state.invalidate()
    return false
  }
}
