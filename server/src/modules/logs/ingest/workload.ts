import { parseWorkloadId } from '../../manifest/index.ts'

/** Returns the squid id of a workload `<squidId>.<generation>`; null for other workloads. */
export const squidIdOf = (workload: string): number | null => parseWorkloadId(workload)?.squidId ?? null
