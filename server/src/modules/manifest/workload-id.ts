import type { WorkloadId } from '@shoal/runtime'

/** The id of the workload of one generation of a version. */
export const workloadIdOf = (squidId: number, generation: number): WorkloadId => `${squidId}.${generation}`

/** Returns the version and generation of a workload id; null if the id does not belong to a version. */
export function parseWorkloadId(id: WorkloadId): { squidId: number; generation: number } | null {
  const [, squidId, generation] = /^(\d{1,15})\.(\d{1,9})$/.exec(id) ?? []
  return squidId && generation ? { squidId: Number(squidId), generation: Number(generation) } : null
}
