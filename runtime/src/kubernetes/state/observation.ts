import type { Observation, Restart, Run } from '../../driver.ts'
import { IMAGE_MISSING_MESSAGE, UNEXPECTED_EXIT_MESSAGE, exitMessage, isFinal } from '../../exit-message.ts'
import type { Condition, Deployment, Job, Pod } from '../objects/object-types.ts'
import { type RunRecord, isStartError, lastRunOf, runId, statusOf, wasInterrupted } from './run-record.ts'

/** The objects of one container in the cluster. */
export type ContainerView = {
  workload: string
  container: string
  restart: Restart
  /** The Job or Deployment; undefined before it exists. */
  controller: Job | Deployment | undefined
  /** The newest pod; undefined if there is none. */
  pod: Pod | undefined
  record: RunRecord | undefined
  /** When the host of the pod stopped responding; null if it responds. */
  hostLostSince: Date | null
  /** The cluster's message about why it could not create the pod; null: there is none. */
  refusal: string | null
  /** When the workload was created. */
  createdAt: string
}

const EVICTED_MESSAGE = 'Its host stopped it'

/** Messages of kubelet when an image does not exist, as opposed to a registry that does not respond. */
const NO_IMAGE = /\bnot found\b|manifest unknown|name unknown|couldn't parse image/i

/** Messages of registries that do not accept the credentials of the cluster. */
const REFUSED = /\b40[13]\b|unauthorized|forbidden|authorization failed|access denied|no basic auth/i

/** Returns the state of a container. */
export function observationOf(view: ContainerView): Observation {
  const { record, pod } = view
  const state = record?.retry ? retryState(record.retry, record) : pod ? podState(view, pod) : stateWithoutPod(view)
  return {
    workload: view.workload,
    container: view.container,
    run: null,
    lastRun: record?.last ? lastRunOf(record.last) : null,
    retryAt: null,
    reason: null,
    diskFullSince: null,
    hostLostSince: null,
    ...state,
  }
}

type State = Pick<Observation, 'state' | 'since'> & Partial<Observation>

const retryState = ({ at, reason }: { at: string; reason: string }, { last }: RunRecord): State => ({
  state: 'backoff',
  since: new Date(last?.endedAt ?? at),
  retryAt: new Date(at),
  reason,
})

function stateWithoutPod({ controller, record, restart, refusal, createdAt }: ContainerView): State {
  const ending = findCondition(controller?.status?.conditions, ['Complete', 'Failed'])
  if (ending && !wasInterrupted(record))
    return {
      state: 'finished',
      since: new Date(ending.lastTransitionTime ?? createdAt),
      reason: ending.type === 'Complete' ? null : endReason(record, restart),
    }
  const replicaFailure = findCondition(controller?.status?.conditions, ['ReplicaFailure'])
  const message = refusal ?? replicaFailure?.message
  return {
    state: 'starting',
    since: new Date(controller?.metadata.creationTimestamp ?? createdAt),
    reason: message ? refusalReason(message) : null,
  }
}

function podState(view: ContainerView, pod: Pod): State {
  const { record, restart, hostLostSince } = view
  if (hostLostSince && !hasPodEnded(pod))
    return {
      state: 'starting',
      since: hostLostSince,
      reason: `It waits for its host ${pod.spec.nodeName}, which does not respond`,
      hostLostSince,
    }
  const status = statusOf(pod)
  const { waiting, running, terminated } = status?.state ?? {}
  if (running)
    return {
      state: 'running',
      since: new Date(running.startedAt),
      run: runOf(pod, record, status?.restartCount ?? 0, running.startedAt),
    }
  const ended = terminated ?? status?.lastState?.terminated
  if (isStartError(ended)) return cannotStart(pod, ended?.message ?? '', view)
  if (terminated || (waiting?.reason === 'CrashLoopBackOff' && record?.last)) {
    const since = new Date(record?.last?.endedAt ?? pod.metadata.creationTimestamp)
    if (restart !== 'always' && wasInterrupted(record)) return { state: 'starting', since, reason: EVICTED_MESSAGE }
    if (isFinal(restart, record?.last?.exitCode ?? null) || pod.status?.phase === 'Failed')
      return { state: 'finished', since, reason: endReason(record, restart) }
    return {
      state: 'backoff',
      since,
      retryAt: retryTime(since, waiting?.message),
      reason: endReason(record, restart),
    }
  }
  const since = new Date(pod.metadata.creationTimestamp)
  if (
    waiting?.reason === 'InvalidImageName' ||
    (isPullFailure(waiting?.reason) && NO_IMAGE.test(waiting?.message ?? ''))
  )
    return { state: 'failed', since, reason: IMAGE_MISSING_MESSAGE }
  if (waiting?.reason === 'CreateContainerError') return cannotStart(pod, waiting.message ?? '', view)
  return { state: 'starting', since, reason: delayReason(pod, waiting) }
}

const hasPodEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

function cannotStart(pod: Pod, message: string, { restart, record }: ContainerView): State {
  const since = new Date(pod.metadata.creationTimestamp)
  const [, command] = /exec: "([^"]+)"/.exec(message) ?? []
  const reason = command === undefined ? `It cannot be started: ${message}` : `There is no command "${command}"`
  const waiting = statusOf(pod)?.state?.waiting
  const end = new Date(statusOf(pod)?.lastState?.terminated?.finishedAt ?? record?.last?.endedAt ?? since)
  return { state: 'failed', since, reason, retryAt: restart === 'never' ? null : retryTime(end, waiting?.message) }
}

const runOf = (pod: Pod, record: RunRecord | undefined, restarts: number, startedAt: string): Run => ({
  id: runId(pod, restarts),
  ordinal: (record?.base ?? 0) + restarts - (record?.skipped ?? 0),
  startedAt: new Date(startedAt),
  node: pod.spec.nodeName ?? null,
})

function endReason(record: RunRecord | undefined, restart: Restart): string | null {
  const last = record?.last
  if (!last || last.how === 'done') return null
  if (last.how === 'evicted') return EVICTED_MESSAGE
  const isUnexpected = last.exitCode === 0 && restart === 'always'
  return isUnexpected ? UNEXPECTED_EXIT_MESSAGE : exitMessage(last.exitCode, last.how === 'oom')
}

/** Returns the time of the next start: `since` plus the delay in kubelet's message, such as `back-off 1m20s restarting failed container`. */
function retryTime(since: Date, message = ''): Date {
  const [, minutes = '0', seconds = '0'] = /back-off (?:(\d+)m)?(?:(\d+)s)?/.exec(message) ?? []
  return new Date(since.getTime() + (Number(minutes) * 60 + Number(seconds)) * 1000)
}

const isPullFailure = (reason: string | undefined): boolean =>
  reason === 'ErrImagePull' || reason === 'ImagePullBackOff'

function delayReason(pod: Pod, waiting: { reason?: string; message?: string } | undefined): string | null {
  if (isPullFailure(waiting?.reason)) {
    const message = waiting?.message ?? waiting?.reason ?? ''
    const refused = REFUSED.test(message) ? ', since the registry refuses the credentials of this installation' : ''
    return `Its image cannot be pulled${refused}: ${message}`
  }
  if (waiting?.reason === 'CreateContainerConfigError') return `It cannot be started yet: ${waiting.message}`
  const unscheduled = findCondition(pod.status?.conditions, ['PodScheduled'], 'False')
  if (unscheduled) return `No host has enough free resources: ${unscheduled.message ?? unscheduled.reason}`
  return null
}

const refusalReason = (message: string): string =>
  /exceeded quota/.test(message)
    ? `The quota of the organization is used up: ${message.replace(/^.*?exceeded quota/, 'exceeded quota')}`
    : `The cluster does not start it: ${message}`

const findCondition = (
  conditions: Condition[] | undefined,
  types: string[],
  status: Condition['status'] = 'True',
): Condition | undefined =>
  conditions?.find((condition) => types.includes(condition.type) && condition.status === status)
