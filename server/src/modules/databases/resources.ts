import type { Profile } from '@shoal/contract'
import type { Resources } from '@shoal/runtime'
import { gibibytes, mebibytes } from '../../bytes.ts'
import { hasuraConnections, type SquidPlan } from '../manifest/index.ts'

type ScaleProfile = SquidPlan['processorProfile']

const resources = (cpuCores: number, memoryBytes: number): Resources => ({ cpuCores, memoryBytes })

const resourcesByProfile: Record<Profile, Resources> = {
  collocated: resources(0.2, mebibytes(768)),
  small: resources(1, gibibytes(2)),
  medium: resources(2, gibibytes(4)),
  large: resources(4, gibibytes(4)),
  xlarge: resources(8, gibibytes(16)),
  '2xlarge': resources(16, gibibytes(32)),
}

/**
 * Returns the nominal resources of a database profile, which charts show next to the usage. The databases of a Postgres share its
 * resources, so a database may use more.
 */
export const databaseResources = (profile: Profile): Resources => resourcesByProfile[profile]

/** The maximum number of connections of the owner, in addition to those for apis, Hasura and processors. */
const connectionsByProfile: Record<ScaleProfile, number> = {
  small: 30,
  medium: 50,
  large: 80,
  xlarge: 120,
  '2xlarge': 200,
}

type Programs = { api: { replicas: number } | null; hasura: { replicas: number } | null; processors: unknown[] }

/**
 * Returns the bounds of the owner's connection limit. The minimum is enough for the version's programs; the maximum applies while
 * the Postgres has enough connections for all versions. An update runs two generations of apis and Hasura at the same time. Each
 * api has a pool of 5 connections; a processor has one connection, and a second one while it commits.
 */
export function connectionRange(
  profile: ScaleProfile,
  { api, hasura, processors }: Programs,
): { minConnections: number; maxConnections: number } {
  const forApisAndHasura = 10 * (api?.replicas ?? 0) + 2 * hasuraConnections * (hasura?.replicas ?? 0)
  return {
    minConnections: 3 + forApisAndHasura + 2 * processors.length,
    maxConnections: connectionsByProfile[profile] + forApisAndHasura + 5 * processors.length,
  }
}

/** Connections of a server that no version's owner uses: those of Shoal, of external users and of Postgres itself. */
const otherConnections = 60

/**
 * Returns the size of a server for a number of dedicated versions with databases of a profile, each with one api of two replicas and three
 * processors at most; more programs share the same connections.
 */
export function serverSize(profile: ScaleProfile, versions: number): Resources & { maxConnections: number } {
  const { cpuCores, memoryBytes } = databaseResources(profile)
  const programs = { api: { replicas: 2 }, hasura: null, processors: [1, 2, 3] }
  const { maxConnections } = connectionRange(profile, programs)
  return {
    cpuCores: cpuCores * versions,
    memoryBytes: memoryBytes * versions,
    maxConnections: maxConnections * versions + otherConnections,
  }
}
