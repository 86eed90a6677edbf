import type { Runtime, Observation } from '@shoal/runtime'
import type { ContainerRow } from './observe-store.ts'
import { containerKey } from './seen.ts'
import { parseWorkloadId } from './workload-id.ts'

/** Containers of versions, as the runtime says they are now. Others than versions' are not ours. */
export async function lookAtContainers(runtime: Pick<Runtime, 'observe'>): Promise<Map<string, ContainerRow>> {
  const rows = (await runtime.observe()).flatMap((observation) => rowOf(observation) ?? [])
  return new Map(rows.map((row) => [containerKey(row), row]))
}

function rowOf(o: Observation): ContainerRow | null {
  const id = parseWorkloadId(o.workload)
  if (!id) return null
  const { container, state, since, restarts, crashesInARow, oomKills, exitCode, retryAt, reason } = o
  return {
    ...id,
    container,
    state,
    since,
    restarts,
    crashesInARow,
    oomKills,
    exitCode,
    isOutOfMemory: o.outOfMemory,
    retryAt,
    reason,
  }
}
