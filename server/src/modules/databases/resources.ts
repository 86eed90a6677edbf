import type { Profile } from '@shoal/contract'
import type { Resources } from '@shoal/runtime'
import type { SquidPlan } from '../manifest/index.ts'

type ScaleProfile = SquidPlan['processorProfile']

const mebibytes = (n: number) => n * 2 ** 20
const gibibytes = (n: number) => n * 2 ** 30
const of = (cpuCores: number, memoryBytes: number): Resources => ({ cpuCores, memoryBytes })

const databases: Record<Profile, Resources> = {
  collocated: of(0.2, mebibytes(768)),
  small: of(1, gibibytes(2)),
  medium: of(2, gibibytes(4)),
  large: of(4, gibibytes(4)),
  xlarge: of(8, gibibytes(16)),
  '2xlarge': of(16, gibibytes(32)),
}

/**
 * What the profile of a database stands for (contract 6.2), against which its use is drawn. Postgres serves all databases at once
 * and holds none of them to it, so that one may use more.
 */
export const databaseResources = (profile: Profile): Resources => databases[profile]

/** Connections of the version's own programs to its database, beside what its shape needs. */
const connections: Record<ScaleProfile, number> = { small: 30, medium: 50, large: 80, xlarge: 120, '2xlarge': 200 }

/**
 * How many connections the owner of the database may hold. An update runs two generations side by side, and the SDK's api
 * keeps a pool of 5 (contract 4.2) for each replica.
 */
export function connectionLimit(profile: ScaleProfile, apiReplicas: number, processors: number): number {
  return connections[profile] + 10 * apiReplicas + 5 * processors
}
