import type { Squid } from '@shoal/contract'
import type { Config } from '../../config.ts'
import type { SquidConnection } from './database.ts'
import { diskUsage } from './disk-usage.ts'
import type { Watched } from './findings.ts'
import { alertsOf } from './present-alerts.ts'
import { lagOf } from './freshness.ts'
import { isoTime, processorStatus } from './present-processor.ts'
import type { PresentedRow, SeenApi, SeenContainer, SeenDatabase, SeenProcessor } from './present-store.ts'
import { squidStatusOf } from './status.ts'
import { apiUrls, consoleUrl, metricsUrl, type Addressed } from './urls.ts'

/** All that is known of a version; observations only of the generation that serves. */
export type SquidFacts = {
  squid: PresentedRow
  org: { id: number; code: string; name: string | null }
  tags: string[]
  database: SeenDatabase | null
  /** What this caller may connect with. */
  connections: SquidConnection[]
  containers: SeenContainer[]
  processors: SeenProcessor[]
  apis: SeenApi[]
  /** Of the organization: when each was last set. */
  secrets: ReadonlyMap<string, Date>
}

/** Canonical addresses never change from here on (spec 2.9). */
const spec = 4

/** The version as the wire has it (contract 2.2): computed from what is wanted and what was seen, never from memory. */
export function presentSquid(config: Config, facts: SquidFacts, nowMs: number): Squid {
  const { squid, org, tags, secrets } = facts
  const of: Addressed = { orgCode: org.code, name: squid.name, slot: squid.slot, tags }
  const reference = `${squid.name}@${squid.slot}`
  const status = squidStatusOf(squid)
  const postgres = presentPostgres(facts)
  const api = presentApi(config, facts, of)
  return {
    id: squid.id,
    name: squid.name,
    slot: squid.slot,
    reference,
    fullName: reference,
    description: squid.description,
    tags: tags.map((name) => ({ name })),
    manifest: { current: squid.manifestCurrent, raw: squid.manifestRaw },
    packageJson: squid.packageJson,
    spec,
    status,
    image: squid.image,
    ...(api ? { api } : {}),
    processors: presentProcessors(config, facts, of, nowMs),
    addons: postgres ? { postgres } : {},
    scale: { isDedicated: squid.isDedicated, processorProfile: squid.processorProfile ?? 'collocated' },
    alerts: alertsOf({ squid, watched: watchedOf(facts), secrets, nowMs }),
    lastDeploy: squid.lastDeploy,
    organization: { id: org.id, name: org.name, code: org.code },
    links: { cloudUrl: consoleUrl(config, of), dockerImageUrl: null },
    createdAt: isoTime(squid.createdAtMs),
    deployedAt: timeOrNull(squid.deployedAtMs),
    hibernatedAt: timeOrNull(squid.hibernatedAtMs),
  }
}

const watchedOf = ({ squid, database, containers, processors, apis }: SquidFacts): Watched => ({
  status: squidStatusOf(squid),
  image: squid.image,
  lastDeploy: squid.lastDeploy,
  apiReplicas: squid.apiReplicas,
  processors: squid.processors,
  database,
  containers,
  seen: processors,
  apis,
})

const timeOrNull = (ms: number | null) => (ms === null ? null : isoTime(ms))

/** Null for a version without an api. One that never ran has none to show yet, but is not well either (spec 4). */
function presentApi(config: Config, { squid, apis }: SquidFacts, of: Addressed): Squid['api'] | null {
  const hasNeverRun = squid.image === null && !squid.lastDeploy?.running
  if (squid.apiReplicas === 0 && !hasNeverRun) return null
  const isAvailable = apis.some((row) => row.isAvailable)
  return {
    status: isAvailable ? 'AVAILABLE' : 'NOT_AVAILABLE',
    urls: apiUrls(config, of),
    replicas: squid.apiReplicas,
    profile: squid.apiProfile ?? 'collocated',
    reason: isAvailable ? null : hasNeverRun ? 'It was never deployed successfully.' : reasonOf(squid, apis),
  }
}

function reasonOf(squid: PresentedRow, replicas: SeenApi[]): string {
  if (squid.wanted === 'hibernated') return 'It is hibernated. Restart it to wake it.'
  return replicas.find((row) => row.reason !== null)?.reason ?? 'It is starting.'
}

function presentProcessors(config: Config, facts: SquidFacts, of: Addressed, nowMs: number): Squid['processors'] {
  return facts.squid.processors.map((name) => {
    const container = facts.containers.find((row) => row.container === name)
    const seen = facts.processors.find((row) => row.processor === name)
    return {
      name,
      ...processorStatus(container, seen, nowMs),
      // The public client needs numbers, also before the first block (contract 2.2).
      syncState: { currentBlock: seen?.currentBlock ?? -1, totalBlocks: seen?.totalBlocks ?? 0 },
      metrics: metricsUrl(config, of, name),
      blocksPerSecond: seen?.blocksPerSecond ?? null,
      etaSeconds: seen?.etaSeconds ?? null,
      progressedAt: timeOrNull(seen?.progressedAtMs ?? null),
      restarts: container?.restarts ?? 0,
      lag: container?.state === 'running' && seen ? lagOf(seen, nowMs) : null,
    }
  })
}

function presentPostgres({ database, connections }: SquidFacts): Squid['addons']['postgres'] | null {
  if (!database) return null
  const { usedBytes, totalBytes, version, profile } = database
  return {
    connections: connections.map(({ host, port, database, user, password, url }) => ({
      params: { host, port, database, user, password },
      uri: url,
    })),
    disk: { usageStatus: diskUsage(usedBytes, totalBytes), usedBytes: usedBytes ?? 0, totalBytes },
    version,
    profile,
  }
}
