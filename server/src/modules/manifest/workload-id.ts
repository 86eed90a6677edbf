import type { WorkloadId } from '@shoal/runtime'

/** One generation of one version. */
export const workloadIdOf = (squidId: number, generation: number): WorkloadId => `${squidId}.${generation}`

/** Null for what no version of ours is called. */
export function parseWorkloadId(id: WorkloadId): { squidId: number; generation: number } | null {
  const [, squidId, generation] = /^(\d{1,15})\.(\d{1,9})$/.exec(id) ?? []
  return squidId && generation ? { squidId: Number(squidId), generation: Number(generation) } : null
}
