import {
  databaseStatus,
  displayStatus,
  type Processor,
  type SquidDisplayStatus,
  type SquidSummary,
} from '@shoal/contract'
import { formatDateTime } from '../../lib/format.ts'

const sinceText = (time: string | null) => (time === null ? '' : ` since ${formatDateTime(time)}`)

const reasons: Record<SquidDisplayStatus, (squid: SquidSummary) => string> = {
  HEALTHY: () => 'The API responds and all processors are at the head of their chains.',
  DEGRADED: (squid) => joinCauses(degradedCauses(squid)),
  HIBERNATED: ({ hibernatedAt }) => `Hibernated${sinceText(hibernatedAt)}. Data is kept.`,
  PROCESSING: (squid) => joinCauses(processingCauses(squid)),
  DEPLOYING: (squid) => `${deploymentName(squid)} is in progress.`,
  DELETING: (squid) => `${deploymentName(squid)} is deleting the version and its data.`,
  HIBERNATING: (squid) => `${deploymentName(squid)} is stopping the version.`,
  RESTARTING: (squid) => `${deploymentName(squid)} is restarting the version.`,
}

/** Why a version has its status: one sentence, or one line per cause (spec 4). */
export const statusReason = (squid: SquidSummary): string => reasons[displayStatus(squid)](squid)

const deploymentName = ({ lastDeploy }: SquidSummary) => (lastDeploy ? `Deployment ${lastDeploy.id}` : 'A deployment')

type Cause = { text: string; since: string | null }

/** One line per cause, and a line with the earliest known time at which one of them began. */
function joinCauses(causes: Cause[]): string {
  const [first] = causes.flatMap(({ since }) => since ?? []).toSorted()
  const lines = causes.map(({ text }) => text)
  return [...lines, ...(first ? [`Since ${formatDateTime(first)}.`] : [])].join('\n')
}

const causeWithoutTime = (text: string): Cause => ({ text, since: null })

function degradedCauses(squid: SquidSummary): Cause[] {
  const { api, processors = [], addons } = squid
  const stuck = processors.filter(({ status }) => status === 'STUCK')
  const isDown = api?.status === 'NOT_AVAILABLE' && !api.isStarting
  return [
    ...(isDown ? [{ text: `API: ${api.reason ?? 'no response.'}`, since: api.since }] : []),
    ...(addons.hasura?.status === 'NOT_AVAILABLE' && !addons.hasura.isStarting
      ? [causeWithoutTime('Hasura: no response.')]
      : []),
    ...stuck.map(({ name, reason, since }) => ({ text: `${name}: ${reason ?? 'stuck.'}`, since })),
    ...(databaseStatus(squid) === 'NO_SPACE' ? [causeWithoutTime('Database: no space left.')] : []),
  ]
}

const processorStates: Record<Processor['status'], string> = {
  STARTING: 'starting.',
  UNKNOWN: 'starting.',
  SYNCING: 'syncing.',
  SYNCED: 'synced.',
  STALLED: 'stalled.',
  STUCK: 'stuck.',
}

function processingCauses(squid: SquidSummary): Cause[] {
  const behind = (squid.processors ?? []).filter(({ status }) => status !== 'SYNCED')
  const { api, addons } = squid
  return [
    ...(api?.isStarting ? [{ text: 'API: starting.', since: api.since }] : []),
    ...(addons.hasura?.isStarting ? [causeWithoutTime('Hasura: starting.')] : []),
    ...behind.map(({ name, status, reason, since }) => ({
      text: `${name}: ${reason ?? processorStates[status]}`,
      since,
    })),
    ...(databaseStatus(squid) === 'PROCESSING' ? [causeWithoutTime('Database: size not measured yet.')] : []),
  ]
}
