import { createHash } from 'node:crypto'
import type { ContainerName, ContainerSpec, Workload, WorkloadId } from '../driver.ts'

/**
 * Labels of all objects of an installation. Values that are not valid in labels are replaced with hashes; annotations have the exact
 * values.
 */
export const labels = {
  managedBy: 'app.kubernetes.io/managed-by',
  installation: 'shoal.dev/installation',
  tenant: 'shoal.dev/org',
  version: 'shoal.dev/version',
  workload: 'shoal.dev/workload',
  container: 'shoal.dev/container',
  /** Only on objects of builds. */
  build: 'shoal.dev/build',
} as const

/** Annotations with the exact names of the workload and container of a Job, Deployment or Pod. */
export const annotations = { workload: 'shoal.dev/workload', container: 'shoal.dev/container' } as const

export const MANAGER = 'shoal'

const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

const hashOf = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length)

/** Returns the text, or a hash of it if it is not valid as the value of a label. */
export const labelValue = (text: string): string => (LABEL_VALUE.test(text) ? text : `x-${hashOf(text, 16)}`)

/** The value of the label `build` on all objects of a build. */
export const buildLabelValue = (key: string): string => hashOf(key, 16)

/** The name of the objects of one attempt to build. `attempt`: a random word. */
export const buildName = (key: string, attempt: string): string => `build-${buildLabelValue(key)}-${attempt}`

/** Returns the text in a form that may be part of an object's name, with at most 40 characters. */
const namePart = (text: string): string => {
  const part = text.replaceAll(/[._]/g, '-')
  return DNS_LABEL.test(part) && part.length <= 40 ? part : `x${hashOf(text, 16)}`
}

/** The namespace of a tenant. Installations that share a cluster have different `installation` keys. */
export const namespaceOf = (installation: string, tenant: string): string =>
  `${namespacePrefix(installation)}${namePart(tenant)}`

/** The prefix of all namespaces of an installation. */
export const namespacePrefix = (installation: string): string => `shoal-${namePart(installation)}-o`

/** The ConfigMap that owns all other objects of a workload. */
export const anchorName = (id: WorkloadId): string => `w${namePart(id)}`

/**
 * The name of the Job or Deployment and of the Secret of a container. Ends with a hash of everything that requires a new run, so a
 * changed container has another name.
 */
export function containerObjectName(workload: Workload, spec: ContainerSpec): string {
  const { stopGraceMs: _, env, ...rest } = spec
  const sortedEnv = Object.entries(env).sort(([first], [second]) => (first < second ? -1 : 1))
  const key = hashOf(JSON.stringify([workload.image, rest, sortedEnv]), 10)
  return `${anchorName(workload.id)}-${hashOf(spec.name, 8)}-${key}`
}

/** The name of the container in its pod, which is also part of the path of its log. */
export const podContainerName = (name: ContainerName): string => (DNS_LABEL.test(name) ? name : `c-${hashOf(name, 16)}`)
