import type { BuildLimits } from '../../builder.ts'
import { MANAGER, buildLabelValue, labelValue, labels, namespaceOf } from '../names.ts'
import { type EgressTarget, buildTargetsPolicy } from '../objects/network-policy.ts'
import type { NewObject, OwnerReference } from '../objects/object-types.ts'
import {
  type PodOptions,
  containerResources,
  emptyFolder,
  restrictedContainer,
  restrictedPod,
} from '../objects/pod-template.ts'
import { WORK_DIR } from './build-actions.ts'

/** One attempt to run a build in the cluster. */
export type BuildAttempt = {
  installation: string
  tenant: string
  /** `BuildRequest.key`. */
  key: string
  /** The name of the Job, and of the objects that it owns. */
  name: string
  /** The name of the image with the base and the tools, by digest. */
  image: string
  /** The URL of the worker for the containers: `http://address:port`. */
  url: string
  /** The tokens of the containers, in the order in which they run. */
  tokens: { install: string | null; build: string }
  limits: BuildLimits
  /** Time after which the cluster ends the Job, even without a worker. */
  deadlineSeconds: number
}

/** The cluster deletes a Job this long after its end, if the worker has not deleted it. */
const TTL_SECONDS = 60
const TMP = '/tmp'

const metadataOf = ({ installation, tenant, key, name }: BuildAttempt) => ({
  name,
  namespace: namespaceOf(installation, tenant),
  labels: {
    [labels.managedBy]: MANAGER,
    [labels.installation]: labelValue(installation),
    [labels.tenant]: labelValue(tenant),
    [labels.build]: buildLabelValue(key),
  },
})

/** Returns the Job of a build. It has no credentials except for the tokens of its containers, which are in a Secret. */
export function buildJob(attempt: BuildAttempt, options: PodOptions): NewObject {
  const metadata = metadataOf(attempt)
  const { limits, tokens } = attempt
  const emptyDir = emptyFolder(limits.diskBytes)
  const container = (name: 'install' | 'build') => ({
    name,
    image: attempt.image,
    // Not the init of squids: the program itself is the first process, and ends all others.
    command: ['/shoal/node/bin/node', '/shoal/build.cjs'],
    workingDir: WORK_DIR,
    env: [
      { name: 'SHOAL_BUILD_URL', value: attempt.url },
      { name: 'SHOAL_BUILD_TOKEN', valueFrom: { secretKeyRef: { name: attempt.name, key: name } } },
    ],
    resources: containerResources(limits, options),
    securityContext: restrictedContainer,
    volumeMounts: [
      { name: 'work', mountPath: WORK_DIR },
      { name: 'tmp', mountPath: TMP },
    ],
  })
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      // The worker starts a new attempt, with new tokens.
      backoffLimit: 0,
      activeDeadlineSeconds: attempt.deadlineSeconds,
      ttlSecondsAfterFinished: TTL_SECONDS,
      template: {
        metadata: { labels: metadata.labels },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 1,
          ...restrictedPod(options),
          ...(tokens.install === null ? {} : { initContainers: [container('install')] }),
          containers: [container('build')],
          volumes: [
            { name: 'work', emptyDir },
            { name: 'tmp', emptyDir },
          ],
        },
      },
    },
  }
}

/**
 * Returns the objects that the Job owns and that are deleted with it: a network policy that permits `egressTo`, and the Secret with
 * its tokens.
 */
export function buildDependents(attempt: BuildAttempt, jobUid: string, egressTo: EgressTarget[]): NewObject[] {
  const { tokens } = attempt
  const owner: OwnerReference = { apiVersion: 'batch/v1', kind: 'Job', name: attempt.name, uid: jobUid }
  const metadata = { ...metadataOf(attempt), ownerReferences: [owner] }
  const data = { build: tokens.build, ...(tokens.install === null ? {} : { install: tokens.install }) }
  return [
    buildTargetsPolicy(metadata, { [labels.build]: buildLabelValue(attempt.key) }, egressTo),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata,
      immutable: true,
      data: Object.fromEntries(
        Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
      ),
    },
  ]
}
