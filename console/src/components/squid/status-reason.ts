import {
  databaseStatus,
  displayStatus,
  type Processor,
  type SquidDisplayStatus,
  type SquidSummary,
} from '@shoal/contract'
import { formatDateTime } from '../../lib/format.ts'

const sinceOf = (time: string | null) => (time === null ? '' : ` since ${formatDateTime(time)}`)

const reasons: Record<SquidDisplayStatus, (squid: SquidSummary) => string> = {
  HEALTHY: () => 'Its API answers and its processors are at the head of their chains.',
  DEGRADED: (squid) => told(troubles(squid)),
  HIBERNATED: ({ hibernatedAt }) => `Stopped${sinceOf(hibernatedAt)}, with its data kept.`,
  PROCESSING: (squid) => told(unready(squid)),
  DEPLOYING: (squid) => `${underWay(squid)} is in progress.`,
  DELETING: (squid) => `${underWay(squid)} takes it away with its data.`,
  HIBERNATING: (squid) => `${underWay(squid)} stops its programs.`,
  RESTARTING: (squid) => `${underWay(squid)} starts its programs anew.`,
}

/** Why a version has the status that it shows: a sentence, or a line for each part that brings it about (spec 4). */
export const statusReason = (squid: SquidSummary): string => reasons[displayStatus(squid)](squid)

const underWay = ({ lastDeploy }: SquidSummary) => (lastDeploy ? `Deployment ${lastDeploy.id}` : 'A deployment')

type Cause = { text: string; since: string | null }

/** A line for each, and since when the first of them is known to last. */
function told(causes: Cause[]): string {
  const [first] = causes.flatMap(({ since }) => since ?? []).toSorted()
  const lines = causes.map(({ text }) => text)
  return [...lines, ...(first ? [`Since ${formatDateTime(first)}.`] : [])].join('\n')
}

const untimed = (text: string): Cause => ({ text, since: null })

function troubles(squid: SquidSummary): Cause[] {
  const { api, processors = [], addons } = squid
  const stuck = processors.filter(({ status }) => status === 'STUCK')
  const isDown = api?.status === 'NOT_AVAILABLE'
  return [
    ...(isDown ? [{ text: `API: ${api.reason ?? 'it does not answer.'}`, since: api.since }] : []),
    ...(addons.hasura?.status === 'NOT_AVAILABLE' ? [untimed('Hasura: it does not answer.')] : []),
    ...stuck.map(({ name, reason, since }) => ({ text: `${name}: ${reason ?? 'it is stuck.'}`, since })),
    ...(databaseStatus(squid) === 'NO_SPACE' ? [untimed('Database: there is no space left.')] : []),
  ]
}

const words: Record<Processor['status'], string> = {
  STARTING: 'starting.',
  UNKNOWN: 'starting.',
  SYNCING: 'syncing.',
  SYNCED: 'synced.',
  STALLED: 'stalled.',
  STUCK: 'stuck.',
}

function unready(squid: SquidSummary): Cause[] {
  const behind = (squid.processors ?? []).filter(({ status }) => status !== 'SYNCED')
  return [
    ...behind.map(({ name, status, reason, since }) => ({ text: `${name}: ${reason ?? words[status]}`, since })),
    ...(databaseStatus(squid) === 'PROCESSING' ? [untimed('Database: its size is not measured yet.')] : []),
  ]
}
