import { databaseStatus, displayStatus, type SquidDisplayStatus, type SquidSummary } from '@shoal/contract'
import { formatDateTime } from '../../lib/format.ts'

const sinceOf = (time: string | null) => (time === null ? '' : ` since ${formatDateTime(time)}`)

const reasons: Record<SquidDisplayStatus, (squid: SquidSummary) => string> = {
  HEALTHY: () => 'Its API answers and its processors are at the head of their chains.',
  DEGRADED: (squid) => troubles(squid).join('\n'),
  HIBERNATED: ({ hibernatedAt }) => `Stopped${sinceOf(hibernatedAt)}, with its data kept.`,
  PROCESSING: (squid) => unready(squid).join('\n'),
  DEPLOYING: (squid) => `${underWay(squid)} is in progress.`,
  DELETING: (squid) => `${underWay(squid)} takes it away with its data.`,
  HIBERNATING: (squid) => `${underWay(squid)} stops its programs.`,
  RESTARTING: (squid) => `${underWay(squid)} starts its programs anew.`,
}

/** Why a version has the status that it shows: a sentence, or a line for each part that brings it about (spec 4). */
export const statusReason = (squid: SquidSummary): string => reasons[displayStatus(squid)](squid)

const underWay = ({ lastDeploy }: SquidSummary) => (lastDeploy ? `Deployment ${lastDeploy.id}` : 'A deployment')

function troubles(squid: SquidSummary): string[] {
  const { api, processors = [], addons } = squid
  const stuck = processors.filter(({ status }) => status === 'STUCK')
  return [
    ...(api?.status === 'NOT_AVAILABLE' ? [`API: ${api.reason ?? 'it does not answer.'}`] : []),
    ...(addons.hasura?.status === 'NOT_AVAILABLE' ? ['Hasura: it does not answer.'] : []),
    ...stuck.map(({ name, reason }) => `${name}: ${reason ?? 'it is stuck.'}`),
    ...(databaseStatus(squid) === 'NO_SPACE' ? ['Database: there is no space left.'] : []),
  ]
}

function unready(squid: SquidSummary): string[] {
  const behind = (squid.processors ?? []).filter(({ status }) => status !== 'SYNCED')
  return [
    ...behind.map(
      ({ name, status, reason }) => `${name}: ${reason ?? (status === 'SYNCING' ? 'syncing.' : 'starting.')}`,
    ),
    ...(databaseStatus(squid) === 'PROCESSING' ? ['Database: its size is not measured yet.'] : []),
  ]
}
