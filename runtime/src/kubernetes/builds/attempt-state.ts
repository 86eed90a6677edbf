import type { KubeClient } from '../client/kube-client.ts'
import { kinds } from '../client/kinds.ts'
import type { ContainerStatus, Event, Job, Pod } from '../objects/object-types.ts'
import { observationOf } from '../state/observation.ts'

/** The state of a build attempt in the cluster. `reason`: a sentence for users. */
export type AttemptState =
  | { kind: 'starting'; reason: string | null }
  | { kind: 'running' }
  | { kind: 'ended'; how: 'out of memory' | 'out of disk' | 'evicted' | 'exited' }
  | { kind: 'deleted' }

/** `refusal`: why the cluster created no pod; null: it created one, or gave no reason. */
type AttemptObjects = { job: Job | undefined; pod: Pod | undefined; refusal: string | null }

/** Reads the state of the Job `name`. @throws ClusterUnreachable, KubeError */
export async function readAttempt(client: KubeClient, namespace: string, name: string): Promise<AttemptState> {
  const jobs = await client.list<Job>(kinds.job, { fieldSelector: `metadata.name=${name}` }, namespace)
  const pods = await client.list<Pod>(kinds.pod, { labelSelector: `batch.kubernetes.io/job-name=${name}` }, namespace)
  const [job] = jobs.items
  const [pod] = pods.items
  const refusal = job && !pod ? await refusalOf(client, namespace, name) : null
  return attemptState({ job, pod, refusal })
}

/** Returns why the cluster created no pod. Only events report an exceeded quota. */
async function refusalOf(client: KubeClient, namespace: string, name: string): Promise<string | null> {
  const fieldSelector = `involvedObject.kind=Job,involvedObject.name=${name},reason=FailedCreate`
  const { items } = await client.list<Event>(kinds.event, { fieldSelector }, namespace)
  return items.at(-1)?.message ?? null
}

/** Derives the state of an attempt from its objects in the cluster. */
export function attemptState({ job, pod, refusal }: AttemptObjects): AttemptState {
  if (!job || job.metadata.deletionTimestamp !== undefined) return { kind: 'deleted' }
  if (pod) return podState(job, pod)
  const hasEnded = job.status?.conditions?.some(
    ({ type, status }) => status === 'True' && /^(Failed|Complete)/.test(type),
  )
  return hasEnded ? { kind: 'ended', how: 'evicted' } : { kind: 'starting', reason: reasonOf(job, undefined, refusal) }
}

const OUT_OF_DISK = /EmptyDir volume|ephemeral local storage|ephemeral-storage/i

function podState(job: Job, pod: Pod): AttemptState {
  const { phase, reason, message = '', conditions = [] } = pod.status ?? {}
  const statuses = statusesOf(pod)
  const ended = statuses.flatMap(({ state }) => state?.terminated ?? [])
  if (phase === 'Failed' || phase === 'Succeeded') {
    if (reason === 'Evicted' && OUT_OF_DISK.test(message)) return { kind: 'ended', how: 'out of disk' }
    const isDisrupted = conditions.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True')
    const isLost = ended.some((end) => end.reason === 'ContainerStatusUnknown')
    if (reason === 'Evicted' || isDisrupted || isLost) return { kind: 'ended', how: 'evicted' }
    const isOom = ended.some((end) => end.reason === 'OOMKilled')
    return { kind: 'ended', how: isOom ? 'out of memory' : 'exited' }
  }
  if (pod.metadata.deletionTimestamp !== undefined) return { kind: 'ended', how: 'evicted' }
  const hasStarted = ended.length > 0 || statuses.some(({ state }) => state?.running !== undefined)
  return hasStarted ? { kind: 'running' } : { kind: 'starting', reason: reasonOf(job, pod, null) }
}

const statusesOf = ({ status }: Pod): ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
]

/** Returns why the build does not start, with the same texts as for programs of squids. */
function reasonOf(job: Job, pod: Pod | undefined, refusal: string | null): string | null {
  // The containers start one after the other, so the first one shows why the pod does not start.
  const podWithFirstStatus = pod && {
    ...pod,
    status: { ...pod.status, containerStatuses: statusesOf(pod).slice(0, 1) },
  }
  return observationOf({
    workload: '',
    container: 'build',
    restart: 'never',
    controller: job,
    pod: podWithFirstStatus,
    record: undefined,
    hostLostSince: null,
    refusal,
    createdAt: job.metadata.creationTimestamp,
  }).reason
}
