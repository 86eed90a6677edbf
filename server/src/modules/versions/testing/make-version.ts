import type { ContainerSpec, SimBehaviour, Workload } from '@shoal/runtime'
import { BEHAVIOUR_VARIABLE } from '@shoal/runtime'
import type { WorkerApp } from '../../../app.ts'
import { insertSquid, type SquidRow } from '../store.ts'
import { apiName, apiPort, metricsPort } from '../../containers.ts'
import { workloadIdOf } from '../../manifest/workload-id.ts'

/** What a test version runs, and how it differs from `test-squid@v1`. */
export type VersionSpec = {
  name?: string
  slot?: string
  /** The behaviour of each api replica; empty for a version without an api. */
  apis?: SimBehaviour[]
  /** The behaviour of each processor, by name. */
  processors?: Record<string, SimBehaviour>
  /** Columns that differ from those of an ordinary running version. */
  row?: Partial<SquidRow>
}

/** Creates a running version without deploying it: its row, and its containers in the runtime. */
export async function makeVersion(app: WorkerApp, org: { id: number }, spec: VersionSpec = {}): Promise<SquidRow> {
  const { apis = [], processors = {} } = spec
  const { id: _, ...row } = spec.row ?? {}
  const squid = await insertSquid(app.db, {
    orgId: org.id,
    name: spec.name ?? 'test-squid',
    slot: spec.slot ?? 'v1',
    image: 'image',
    generation: 1,
    generationsUsed: 1,
    apiReplicas: apis.length,
    apiProfile: 'small',
    processorProfile: 'small',
    processors: Object.keys(processors),
    deployedAt: app.clock.now(),
    ...row,
  })
  const containers = [
    ...apis.map((behaviour, i) => specOf(apiName(i), apiPort, behaviour)),
    ...Object.entries(processors).map(([name, behaviour]) => specOf(name, metricsPort, behaviour)),
  ]
  await app.runtime.apply(workloadOf(squid, containers))
  return squid
}

/** The workload of a version with these containers. */
export const workloadOf = ({ id, orgId, generation }: SquidRow, containers: ContainerSpec[]): Workload => ({
  id: workloadIdOf(id, generation),
  tenant: String(orgId),
  version: String(id),
  image: 'image',
  containers,
})

/** A container that the `sim` runtime runs with this behaviour. */
export const specOf = (name: string, port: number, behaviour: SimBehaviour): ContainerSpec => ({
  name,
  command: ['play'],
  env: { [BEHAVIOUR_VARIABLE]: JSON.stringify(behaviour) },
  resources: { cpuCores: 1, memoryBytes: 2 ** 30 },
  restart: 'on-failure',
  ports: [port],
  stopGraceMs: 5000,
})
