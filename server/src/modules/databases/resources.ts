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
 * The resources of a database profile (contract 6.2), with which charts compare its usage. All databases share one Postgres, which
 * does not enforce these limits, so a database may use more.
 */
export const databaseResources = (profile: Profile): Resources => databases[profile]

/** Connections of the owner by profile, in addition to those for its api replicas and processors. */
const connections: Record<ScaleProfile, number> = { small: 30, medium: 50, large: 80, xlarge: 120, '2xlarge': 200 }

/**
 * The maximum number of connections of the database's owner. An update runs two generations side by side, and each replica of the
 * SDK's api keeps a pool of 5 (contract 4.2).
 */
export function connectionLimit(profile: ScaleProfile, apiReplicas: number, processors: number): number {
  return connections[profile] + 10 * apiReplicas + 5 * processors
}
