import type { Observation, Runtime, WorkloadId } from '@shoal/runtime'
import { parseWorkloadId } from '../squids/index.ts'

/** What runs at one moment. */
export type Sight = {
  /** Empty when nothing of it exists. */
  of: (workload: WorkloadId) => Observation[]
  /** Every generation of the version of which anything exists. */
  generationsOf: (squidId: number) => WorkloadId[]
  workloads: WorkloadId[]
}

/** Each answer is of a look that began after it was asked for; those who ask meanwhile share the next one. */
export type Look = () => Promise<Sight>

export function createLook(runtime: Pick<Runtime, 'observe'>): Look {
  let present: Promise<Sight> | null = null
  let next: Promise<Sight> | null = null
  const begin = () => {
    const look = runtime.observe().then(sightOf)
    present = look
    next = null
    const forget = () => {
      if (present === look) present = null
    }
    look.then(forget, forget)
    return look
  }
  return () => {
    if (!present) return begin()
    next ??= present.then(begin, begin)
    return next
  }
}

export function sightOf(observations: Observation[]): Sight {
  const byWorkload = Map.groupBy(observations, (o) => o.workload)
  const workloads = [...byWorkload.keys()]
  const bySquid = Map.groupBy(workloads, (id) => parseWorkloadId(id)?.squidId ?? null)
  return {
    of: (workload) => byWorkload.get(workload) ?? [],
    generationsOf: (squidId) => bySquid.get(squidId) ?? [],
    workloads,
  }
}
