/** Display status and allowed actions of a version (spec 4): pure functions shared by console, server and tests. */
import type { Deployment } from './deployments.ts'
import type { Processor, Squid, SquidSummary } from './squid-payloads.ts'

export const squidDisplayStatuses = [
  'HEALTHY',
  'DEGRADED',
  'HIBERNATED',
  'PROCESSING',
  'DEPLOYING',
  'DELETING',
  'HIBERNATING',
  'RESTARTING',
] as const
export type SquidDisplayStatus = (typeof squidDisplayStatuses)[number]

export const displayStatusLabels: Record<SquidDisplayStatus, string> = {
  HEALTHY: 'Healthy',
  DEGRADED: 'Degraded',
  HIBERNATED: 'Hibernated',
  PROCESSING: 'Processing',
  DEPLOYING: 'Deploying',
  DELETING: 'Deleting',
  HIBERNATING: 'Hibernating',
  RESTARTING: 'Restarting',
}

export type DatabaseStatus = 'PROCESSING' | 'NO_SPACE' | 'LOW_SPACE' | 'HEALTHY'

const statusWhileDeploying: Partial<Record<Deployment['type'], SquidDisplayStatus>> = {
  DELETE: 'DELETING',
  HIBERNATE: 'HIBERNATING',
  RESTART: 'RESTARTING',
}

/** The display status of spec 4, except that endpoints which have just started count as processing. */
export function displayStatus(squid: SquidSummary): SquidDisplayStatus {
  if (squid.status === 'HIBERNATED') return 'HIBERNATED'
  if (squid.status === 'DEPLOYING')
    return (squid.lastDeploy && statusWhileDeploying[squid.lastDeploy.type]) ?? 'DEPLOYING'
  const processors = squid.processors ?? []
  const database = databaseStatus(squid)
  if (processors.some((p) => p.status === 'STUCK')) return 'DEGRADED'
  const endpoints = [squid.api, squid.addons.hasura]
  const unavailable = endpoints.filter((endpoint) => endpoint?.status === 'NOT_AVAILABLE')
  if (unavailable.some((endpoint) => !endpoint?.isStarting) || database === 'NO_SPACE') return 'DEGRADED'
  if (unavailable.length > 0 || processors.some((p) => p.status !== 'SYNCED') || database === 'PROCESSING')
    return 'PROCESSING'
  return 'HEALTHY'
}

/** The database status of spec 4; null for a version without a database. */
export function databaseStatus(squid: Pick<SquidSummary, 'addons'>): DatabaseStatus | null {
  const disk = squid.addons.postgres?.disk
  if (!disk) return null
  if (disk.totalBytes === 0 || disk.usageStatus === 'UNKNOWN') return 'PROCESSING'
  if (disk.usageStatus === 'CRITICAL') return 'NO_SPACE'
  return disk.usageStatus === 'WARNING' ? 'LOW_SPACE' : 'HEALTHY'
}

/** Returns the progress from 0 to 100; null while the processor is starting or its status is unknown (spec 4). */
export function syncPercent(p: Pick<Processor, 'status' | 'syncState'>): number | null {
  if (p.status === 'STARTING' || p.status === 'UNKNOWN') return null
  const { currentBlock, totalBlocks } = p.syncState
  if (totalBlocks <= 0) return 0
  return Math.min(100, Math.max(0, (currentBlock / totalBlocks) * 100))
}

export const isInProgress = (d: Pick<Deployment, 'status' | 'failed'>): boolean =>
  d.status !== 'OK' && d.failed === 'NO'

export const isDeploying = (squid: Pick<Squid, 'status'>): boolean => squid.status === 'DEPLOYING'
export const isHibernated = (squid: Pick<Squid, 'status'>): boolean => squid.status === 'HIBERNATED'

type Check = (squid: Pick<Squid, 'status' | 'lastDeploy'>) => string | null
const inProgressReason: Check = (squid) =>
  isDeploying(squid)
    ? `Deployment ${squid.lastDeploy?.id ?? ''} (${squid.lastDeploy?.type ?? 'DEPLOY'}) is in progress. Wait for it to finish.`
    : null

/** One check per action: returns null if the action is possible, otherwise the message to show. */
export const squidActionChecks = {
  deploy: inProgressReason,
  restart: inProgressReason,
  hibernate: (squid) => inProgressReason(squid) ?? (isHibernated(squid) ? 'It is already hibernated.' : null),
  delete: inProgressReason,
  rollback: inProgressReason,
  changeTags: inProgressReason,
  copyEndpoint: (squid) => (isHibernated(squid) ? 'A hibernated squid has no endpoint. Restart it first.' : null),
} as const satisfies Record<string, Check>
export type SquidAction = keyof typeof squidActionChecks
