import type { Squid, SquidSummary } from '@shoal/contract'
import { isoTime, minutes } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import { isApi, isHasura } from '../../containers.ts'
import { type SquidConnection, classifyDiskUsage } from '../../databases/index.ts'
import { type AlertFacts, lagOf, processorStatus, type VersionDetails } from '../../observing/index.ts'
import { alertsOf } from './present-alerts.ts'
import type { PresentedRow, SummaryRow } from './present-store.ts'
import { squidStatusOf } from '../status.ts'
import { apiUrls, consoleUrl, hasuraUrls, metricsUrl, type UrlParts } from '../urls.ts'

/** The facts about a version that a list shows. Observations are those of the serving generation. */
export type SummaryFacts = VersionDetails & {
  squid: SummaryRow
  org: { id: number; code: string; name: string | null }
  /** Connections to its database that this caller may use. */
  connections: SquidConnection[]
}

/** All facts about a version. */
export type SquidFacts = SummaryFacts & {
  squid: PresentedRow
  /** When each secret of the organization was last set. */
  secrets: ReadonlyMap<string, Date>
}

/** For this long after its start, an api or Hasura that does not respond yet is shown as starting; after that, as not available. */
const startingMs = minutes(2)

/** The `spec` of every version. From 4 on, clients may rely on canonical URLs, which never change (spec 2.9). */
const spec = 4

/** Returns the API representation of the version, computed from its desired state and its observations. */
export function presentSquid(config: Config, facts: SquidFacts, nowMs: number): Squid {
  const { squid, org, secrets } = facts
  const urlParts = urlPartsOf(facts)
  const { api, ...summary } = presentSummary(config, facts, nowMs)
  const postgres = presentPostgres(facts)
  const hasura = presentHasura(config, facts, nowMs)
  return {
    ...summary,
    fullName: summary.reference,
    description: squid.description,
    manifest: { current: squid.manifestCurrent, raw: squid.manifestRaw },
    packageJson: squid.packageJson,
    spec,
    image: squid.image,
    ...(api ? { api: { ...api, replicas: squid.apiReplicas, profile: squid.apiProfile ?? 'collocated' } } : {}),
    processors: presentProcessors(config, facts, urlParts, nowMs),
    addons: { ...(postgres ? { postgres } : {}), ...(hasura ? { hasura } : {}) },
    scale: { isDedicated: squid.isDedicated, processorProfile: squid.processorProfile ?? 'collocated' },
    alerts: alertsOf({ squid, subject: alertFactsOf(facts), secrets, nowMs }),
    organization: { id: org.id, name: org.name, code: org.code },
    links: { cloudUrl: consoleUrl(config, urlParts), dockerImageUrl: null },
  }
}

/** Returns the version as lists show it. */
export function presentSummary(config: Config, facts: SummaryFacts, nowMs: number): SquidSummary {
  const { squid, database, tags } = facts
  const api = presentApi(config, facts, nowMs)
  return {
    id: squid.id,
    name: squid.name,
    slot: squid.slot,
    reference: `${squid.name}@${squid.slot}`,
    tags: tags.map((name) => ({ name })),
    status: squidStatusOf(squid),
    ...(api ? { api } : {}),
    processors: squid.processors.map((name) => presentProgress(name, facts, nowMs)),
    addons: {
      ...(database ? { postgres: { disk: presentDisk(database) } } : {}),
      ...(squid.hasuraReplicas > 0
        ? { hasura: { status: statusOf(facts.hasura), ...startingOf(facts, facts.hasura, isHasura, nowMs) } }
        : {}),
    },
    lastDeploy: squid.lastDeploy,
    createdAt: isoTime(squid.createdAtMs),
    deployedAt: timeOrNull(squid.deployedAtMs),
    hibernatedAt: timeOrNull(squid.hibernatedAtMs),
  }
}

const urlPartsOf = ({ squid: { name, slot }, org, tags }: SummaryFacts): UrlParts => ({
  orgCode: org.code,
  name,
  slot,
  tags,
})

const alertFactsOf = ({ squid, database, containers, processors, apis, hasura }: SquidFacts): AlertFacts => ({
  status: squidStatusOf(squid),
  image: squid.image,
  lastDeploy: squid.lastDeploy,
  apiReplicas: squid.apiReplicas,
  hasuraReplicas: squid.hasuraReplicas,
  processors: squid.processors,
  database,
  containers,
  processorMetrics: processors,
  apis,
  hasura,
})

const timeOrNull = (ms: number | null) => (ms === null ? null : isoTime(ms))

/**
 * Returns null for a version without an api. A version that never ran is presented with an api that is not available, since it is
 * unknown whether it has one (spec 4).
 */
function presentApi(config: Config, facts: SummaryFacts, nowMs: number): SquidSummary['api'] | null {
  const { squid, apis } = facts
  const hasNeverRun = squid.image === null && !squid.lastDeploy?.running
  if (squid.apiReplicas === 0 && !hasNeverRun) return null
  const isAvailable = apis.some((row) => row.isAvailable)
  return {
    status: statusOf(apis),
    urls: apiUrls(config, urlPartsOf(facts)),
    reason: isAvailable ? null : hasNeverRun ? 'It was never deployed successfully.' : reasonOf(squid, apis),
    ...startingOf(facts, apis, isApi, nowMs),
    since: isAvailable || apis.length === 0 ? null : isoTime(Math.max(...apis.map(({ sinceMs }) => sinceMs))),
  }
}

const statusOf = (replicas: VersionDetails['apis']) =>
  replicas.some((row) => row.isAvailable) ? ('AVAILABLE' as const) : ('NOT_AVAILABLE' as const)

/** Returns `isStarting` if all programs of this kind started recently, none has crashed, and none responds yet. */
function startingOf(
  { squid, containers }: SummaryFacts,
  replicas: VersionDetails['apis'],
  isOfKind: typeof isApi,
  nowMs: number,
): { isStarting?: true } {
  const programs = containers.filter(({ container }) => isOfKind({ name: container }))
  const isStarting =
    squid.image !== null &&
    programs.length > 0 &&
    statusOf(replicas) === 'NOT_AVAILABLE' &&
    programs.every(
      ({ state, crashesInARow, sinceMs }) =>
        (state === 'starting' || state === 'running') && crashesInARow === 0 && nowMs - sinceMs < startingMs,
    )
  return isStarting ? { isStarting } : {}
}

/** Null for a version without the addon. */
function presentHasura(
  config: Config,
  facts: SummaryFacts,
  nowMs: number,
): NonNullable<Squid['addons']['hasura']> | null {
  const { squid, hasura } = facts
  if (squid.hasuraReplicas === 0) return null
  const status = statusOf(hasura)
  return {
    status,
    urls: hasuraUrls(config, urlPartsOf(facts)),
    replicas: squid.hasuraReplicas,
    profile: squid.hasuraProfile ?? 'collocated',
    reason: status === 'AVAILABLE' ? null : reasonOf(squid, hasura),
    ...startingOf(facts, hasura, isHasura, nowMs),
  }
}

function reasonOf(squid: SummaryRow, replicas: VersionDetails['apis']): string {
  if (squid.desiredState === 'hibernated') return 'It is hibernated. Restart it to start its programs.'
  return replicas.find((row) => row.reason !== null)?.reason ?? 'It is starting.'
}

const observationsOf = ({ containers, processors }: SummaryFacts, name: string) => ({
  container: containers.find((row) => row.container === name),
  metrics: processors.find((row) => row.processor === name),
})

function presentProgress(name: string, facts: SummaryFacts, nowMs: number) {
  const { container, metrics } = observationsOf(facts, name)
  const { sinceMs, ...status } = processorStatus(container, metrics, nowMs)
  return {
    name,
    ...status,
    since: timeOrNull(sinceMs),
    // The public client requires numbers even before the first block.
    syncState: { currentBlock: metrics?.currentBlock ?? -1, totalBlocks: metrics?.totalBlocks ?? 0 },
    blocksPerSecond: metrics?.blocksPerSecond ?? null,
    etaSeconds: metrics?.etaSeconds ?? null,
  }
}

function presentProcessors(
  config: Config,
  facts: SummaryFacts,
  urlParts: UrlParts,
  nowMs: number,
): Squid['processors'] {
  return facts.squid.processors.map((name) => {
    const { container, metrics } = observationsOf(facts, name)
    return {
      ...presentProgress(name, facts, nowMs),
      metrics: metricsUrl(config, urlParts, name),
      progressedAt: timeOrNull(metrics?.progressedAtMs ?? null),
      restarts: container?.restarts ?? 0,
      lag: container?.state === 'running' && metrics ? lagOf(metrics, nowMs) : null,
    }
  })
}

const presentDisk = ({ usedBytes, totalBytes }: NonNullable<VersionDetails['database']>) => ({
  usageStatus: classifyDiskUsage(usedBytes, totalBytes),
  usedBytes: usedBytes ?? 0,
  totalBytes,
})

function presentPostgres({ database, connections }: SummaryFacts): Squid['addons']['postgres'] | null {
  if (!database) return null
  return {
    connections: connections.map(({ host, port, database, user, password, url }) => ({
      params: { host, port, database, user, password },
      uri: url,
    })),
    disk: presentDisk(database),
    version: database.version,
    profile: database.profile,
  }
}
