import type { Driver, Observation } from '@shoal/runtime'
import { isDeepStrictEqual } from 'node:util'
import type { App } from '../../app.ts'
import { deleteContainers, existingSquids, putContainers, type ContainerRow } from './observe-store.ts'
import { parseWorkloadId } from './workload-id.ts'

export const containerKey = (row: { squidId: number; generation: number; container: string }): string =>
  `${row.squidId}.${row.generation}/${row.container}`

/** Containers of versions, as the driver says they are now. Others than versions' are not ours. */
export async function lookAtContainers(driver: Pick<Driver, 'observe'>): Promise<Map<string, ContainerRow>> {
  const rows = (await driver.observe()).flatMap((observation) => rowOf(observation) ?? [])
  return new Map(rows.map((row) => [containerKey(row), row]))
}

function rowOf(o: Observation): ContainerRow | null {
  const id = parseWorkloadId(o.workload)
  if (!id) return null
  const { container, state, since, restarts, oomKills, exitCode, retryAt, reason } = o
  return { ...id, container, state, since, restarts, oomKills, exitCode, isOutOfMemory: o.outOfMemory, retryAt, reason }
}

/** Writes what differs from what is `known`, which becomes `now`. */
export async function noteContainers(
  app: Pick<App, 'db'>,
  known: Map<string, ContainerRow>,
  now: Map<string, ContainerRow>,
): Promise<void> {
  const changed = [...now].filter(([key, row]) => !isDeepStrictEqual(row, known.get(key))).map(([, row]) => row)
  const gone = [...known].filter(([key]) => !now.has(key))
  if (changed.length > 0) {
    const existing = await existingSquids(app.db, [...new Set(changed.map((row) => row.squidId))])
    const noted = changed.filter((row) => existing.has(row.squidId))
    await putContainers(app.db, noted)
    for (const row of noted) known.set(containerKey(row), row)
  }
  if (gone.length > 0) {
    await deleteContainers(
      app.db,
      gone.map(([, row]) => row),
    )
    for (const [key] of gone) known.delete(key)
  }
}
