import type { ContainerName, ContainerSpec, Workload } from '../../driver.ts'
import { MANAGER, anchorName, annotations, containerObjectName, labelValue, labels, namespaceOf } from '../names.ts'
import type { NewObject, OwnerReference } from './object-types.ts'
import { type PodOptions, podEnvironment, podTemplate } from './pod-template.ts'

export type WorkloadOptions = PodOptions & { installation: string }

/**
 * A workload as stored in its anchor, the ConfigMap that owns its other objects: each container without its environment, but with the
 * name of its objects.
 */
export type DesiredWorkload = Omit<Workload, 'containers'> & { containers: AnchoredContainer[] }
export type AnchoredContainer = ContainerSpec & { object: string }

/** The key of the desired state in the anchor's data. */
export const DESIRED = 'workload'

/** Returns the desired state of a workload. Environments contain secrets, so they are stored only in Secrets. */
export const desiredStateOf = (workload: Workload): DesiredWorkload => ({
  ...workload,
  containers: workload.containers.map((spec) => ({
    ...spec,
    env: {},
    object: containerObjectName(workload, spec),
  })),
})

const labelsOf = ({ installation }: WorkloadOptions, { id, tenant, version }: Omit<Workload, 'containers'>) => ({
  [labels.managedBy]: MANAGER,
  [labels.installation]: labelValue(installation),
  [labels.tenant]: labelValue(tenant),
  [labels.version]: labelValue(version),
  [labels.workload]: labelValue(id),
})

/** Returns the object that owns all others of a workload: deleting it removes the workload. */
export function anchorObject(options: WorkloadOptions, desired: DesiredWorkload): NewObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: anchorName(desired.id),
      namespace: namespaceOf(options.installation, desired.tenant),
      labels: labelsOf(options, desired),
    },
    data: { [DESIRED]: JSON.stringify(desired) },
  }
}

/** Returns the Secret with the environment of a container. */
export function secretObject(
  options: WorkloadOptions,
  workload: Workload,
  spec: ContainerSpec,
  anchorUid: string,
): NewObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(options, workload, spec.name, containerObjectName(workload, spec), anchorUid),
    immutable: true,
    data: Object.fromEntries(
      Object.entries(podEnvironment(spec)).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
    ),
  }
}

/** Returns the object that runs a container: a Job for a program that may end, a Deployment for one that must not. */
export function programObject(
  options: WorkloadOptions,
  desired: DesiredWorkload,
  spec: AnchoredContainer,
  anchorUid: string,
): NewObject {
  const metadata = metadataOf(options, desired, spec.name, spec.object, anchorUid)
  const template = podTemplate(desired, spec, { podLabels: metadata.labels, secret: spec.object }, options)
  if (spec.restart === 'always')
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 1,
        // Another pod of the same program starts only when the old one has ended.
        strategy: { type: 'Recreate' },
        revisionHistoryLimit: 0,
        selector: { matchLabels: metadata.labels },
        template,
      },
    }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { ...jobSpecs[spec.restart], template } }
}

const jobSpecs = {
  // A pod that the cluster moves is not a failure of the program.
  never: {
    backoffLimit: 0,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: {
      rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
    },
  },
  // `Failed`: only one pod may write at a time, so the next one starts when the old one has ended. Restarts count toward the limit.
  'on-failure': { parallelism: 1, completions: 1, backoffLimit: 2_147_483_647, podReplacementPolicy: 'Failed' },
}

function metadataOf(
  options: WorkloadOptions,
  workload: Omit<Workload, 'containers'>,
  container: ContainerName,
  name: string,
  anchorUid: string,
) {
  return {
    name,
    namespace: namespaceOf(options.installation, workload.tenant),
    labels: { ...labelsOf(options, workload), [labels.container]: labelValue(container) },
    annotations: { [annotations.workload]: workload.id, [annotations.container]: container },
    ownerReferences: [ownerReference(anchorName(workload.id), anchorUid)],
  }
}

/** `blockOwnerDeletion`: the owner exists as long as this object does. */
const ownerReference = (name: string, uid: string): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  controller: false,
  blockOwnerDeletion: true,
})
