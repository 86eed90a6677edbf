import type { ContainerSpec, Resources, Workload } from '@shoal/runtime'
import type { Environments, Variables } from './environment.ts'
import { apiName, apiPort, hasuraName, hasuraPort, metricsPort, stopGraceMsOf } from '../containers.ts'
import { hasuraCommand, hasuraEnvironment, type HasuraProgram } from './hasura.ts'
import type { SquidPlan } from './plan.ts'
import { initResources, programResources, type ScaleProfile } from './profiles.ts'
import { workloadIdOf } from './workload-id.ts'

const apiPorts = { GRAPHQL_SERVER_PORT: String(apiPort), GQL_PORT: String(apiPort) }

/** Names of the SDK's log levels, by the number in its JSON lines. */
const logLabels = JSON.stringify({ 0: 'TRACE', 1: 'DEBUG', 2: 'INFO', 3: 'WARN', 4: 'ERROR', 5: 'FATAL' })

/** Connections of a version's programs to databases of other versions, and those that have just been closed. */
const otherConnections = 20

/** Everything from which a workload is composed. */
export type WorkloadParts = {
  squid: { id: number; orgId: number }
  /** The path at which the gateway serves its api. */
  apiPath: string
  generation: number
  image: string
  plan: SquidPlan
  environments: Environments
  /** Variables of addons: `DB_*`, `RPC_*`. */
  addonVariables: Variables
  /** Null if the installation does not offer Hasura. */
  hasura: HasuraProgram | null
  /** How many connections the roles of its database may have; 0 if it has none. */
  databaseConnections: number
}

/**
 * Composes the workload of a version, including `init`. The environment of a section takes precedence over `deploy.env`, and the
 * platform's variables over both, except NODE_ENV and BASE_PATH (the path in the URLs that an api generates), which a squid may set.
 */
export function composeWorkload(parts: WorkloadParts): Workload {
  const { squid, generation, image, plan, environments } = parts
  const composeEnv = (section: Variables, ports: Variables, defaults: Variables = {}) => ({
    NODE_ENV: 'production',
    ...defaults,
    ...environments.deploy,
    ...section,
    ...parts.addonVariables,
    SQUID_ID: String(squid.id),
    SQD_LOG_LABELS: logLabels,
    ...ports,
  })
  const containers: ContainerSpec[] = []
  if (plan.init)
    containers.push({
      name: 'init',
      command: plan.init.command,
      env: composeEnv(environments.init, {}),
      resources: initResources,
      restart: 'never',
      ports: [],
      stopGraceMs: stopGraceMsOf({ name: 'init' }),
    })
  for (let index = 0; index < (plan.api?.replicas ?? 0); index++)
    containers.push({
      name: apiName(index),
      command: plan.api?.command ?? [],
      env: composeEnv(environments.api, apiPorts, { BASE_PATH: parts.apiPath }),
      resources: resourcesOf(plan.api?.profile ?? 'small', plan.isDedicated),
      restart: 'always',
      ports: [apiPort],
      stopGraceMs: stopGraceMsOf({ name: apiName(index) }),
    })
  containers.push(...hasuraContainers(parts))
  for (const { name, command } of plan.processors)
    containers.push({
      name,
      command,
      env: composeEnv(environments.processors[name] ?? {}, { PROCESSOR_PROMETHEUS_PORT: String(metricsPort) }),
      resources: resourcesOf(plan.processorProfile, plan.isDedicated),
      restart: 'on-failure',
      ports: [metricsPort],
      stopGraceMs: stopGraceMsOf({ name }),
    })
  return {
    id: workloadIdOf(squid.id, generation),
    tenant: String(squid.orgId),
    version: String(squid.id),
    image,
    containers,
    limitedConnections: parts.databaseConnections + otherConnections,
  }
}

/** @throws Error if the version needs Hasura and the installation does not offer it; an earlier check rejects such manifests */
function hasuraContainers({ plan, hasura, environments, addonVariables }: WorkloadParts): ContainerSpec[] {
  if (!plan.hasura) return []
  if (!hasura) throw new Error('This installation does not offer Hasura')
  const { profile, replicas } = plan.hasura
  const variables = { ...environments.deploy, ...environments.hasura }
  return Array.from({ length: replicas }, (_, index) => ({
    name: hasuraName(index),
    ...hasuraCommand(hasura),
    env: hasuraEnvironment(hasura, variables, addonVariables['DB_URL']),
    resources: resourcesOf(profile, plan.isDedicated),
    restart: 'always',
    ports: [hasuraPort],
    stopGraceMs: stopGraceMsOf({ name: hasuraName(index) }),
  }))
}

/** @throws Error for a profile that a collocated version cannot have; an earlier check rejects such manifests */
function resourcesOf(profile: ScaleProfile, isDedicated: boolean): Resources {
  const resources = programResources(profile, isDedicated)
  if (!resources) throw new Error(`A collocated version cannot have the profile ${profile}`)
  return resources
}

/** Returns the workload with only the containers for which one of the `keep` functions returns true. */
export const pickContainers = (workload: Workload, ...keep: ((container: ContainerSpec) => boolean)[]): Workload => ({
  ...workload,
  containers: workload.containers.filter((container) => keep.some((matches) => matches(container))),
})
