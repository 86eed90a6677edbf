import type { Observation, Runtime, WorkloadId } from '@shoal/runtime'
import { groupInSlices } from '../../collections/slices.ts'
import { parseWorkloadId } from '../manifest/index.ts'

/** All containers of the runtime at one moment. */
export type RuntimeSnapshot = {
  /** The containers of a workload; empty when it has none. */
  containersOf: (workload: WorkloadId) => Observation[]
  /** The generations of the version that have containers. */
  generationsOf: (squidId: number) => WorkloadId[]
  /** All workloads that have containers. */
  workloads: WorkloadId[]
  /** The containers whose host does not respond. */
  onUnresponsiveHosts: Observation[]
}

/** Reads the containers of the runtime. Both reads begin after the call. */
export type SnapshotReader = {
  /** Reads all containers. Takes longer with each version of the installation, so polls do not use it. Concurrent callers share one read. */
  all: () => Promise<RuntimeSnapshot>
  /** Reads the containers of these workloads. */
  of: (...workloads: WorkloadId[]) => Promise<Observation[]>
}

/** Creates a reader that all deployments of a worker share. */
export function createSnapshotReader(runtime: Pick<Runtime, 'observe'>): SnapshotReader {
  let current: Promise<RuntimeSnapshot> | null = null
  let next: Promise<RuntimeSnapshot> | null = null
  const begin = () => {
    const reading = runtime.observe().then(snapshotOf)
    current = reading
    next = null
    const clear = () => {
      if (current === reading) current = null
    }
    reading.then(clear, clear)
    return reading
  }
  return {
    all: () => {
      if (!current) return begin()
      next ??= current.then(begin, begin)
      return next
    },
    of: (...workloads) => runtime.observe(workloads),
  }
}

/** Groups the observations by workload and version. */
export async function snapshotOf(observations: Observation[]): Promise<RuntimeSnapshot> {
  const byWorkload = await groupInSlices(observations, (o) => o.workload)
  const workloads = [...byWorkload.keys()]
  // Most rounds find no version whose generations they need.
  let bySquid: Map<number | null, WorkloadId[]> | null = null
  return {
    containersOf: (workload) => byWorkload.get(workload) ?? [],
    generationsOf: (squidId) => {
      bySquid ??= Map.groupBy(workloads, (id) => parseWorkloadId(id)?.squidId ?? null)
      return bySquid.get(squidId) ?? []
    },
    workloads,
    onUnresponsiveHosts: observations.filter(({ hostLostSince }) => hostLostSince !== null),
  }
}
