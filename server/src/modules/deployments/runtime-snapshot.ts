import type { Observation, Runtime, WorkloadId } from '@shoal/runtime'
import { parseWorkloadId } from '../manifest/index.ts'

/** What runs at one moment. */
export type RuntimeSnapshot = {
  /** Empty when nothing of it exists. */
  of: (workload: WorkloadId) => Observation[]
  /** Every generation of the version of which anything exists. */
  generationsOf: (squidId: number) => WorkloadId[]
  workloads: WorkloadId[]
}

/** Each answer is of a look that began after it was asked for; those who ask meanwhile share the next one. */
export type SnapshotReader = () => Promise<RuntimeSnapshot>

export function createSnapshotReader(runtime: Pick<Runtime, 'observe'>): SnapshotReader {
  let present: Promise<RuntimeSnapshot> | null = null
  let next: Promise<RuntimeSnapshot> | null = null
  const begin = () => {
    const snapshots = runtime.observe().then(snapshotOf)
    present = snapshots
    next = null
    const clear = () => {
      if (present === snapshots) present = null
    }
    snapshots.then(clear, clear)
    return snapshots
  }
  return () => {
    if (!present) return begin()
    next ??= present.then(begin, begin)
    return next
  }
}

export function snapshotOf(observations: Observation[]): RuntimeSnapshot {
  const byWorkload = Map.groupBy(observations, (o) => o.workload)
  const workloads = [...byWorkload.keys()]
  const bySquid = Map.groupBy(workloads, (id) => parseWorkloadId(id)?.squidId ?? null)
  return {
    of: (workload) => byWorkload.get(workload) ?? [],
    generationsOf: (squidId) => bySquid.get(squidId) ?? [],
    workloads,
  }
}
