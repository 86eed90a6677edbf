import type { LastRun, Observation, Run, Runtime } from '@shoal/runtime'
import { countRuns } from './count-runs.ts'
import type { ContainerRow, RunRow } from './observe-store.ts'
import { containerKey } from './seen.ts'
import { parseWorkloadId } from './workload-id.ts'

/** All containers of versions at one moment, and those of their runs that changed since what was written down before. */
export type ContainersLook = { containers: Map<string, ContainerRow>; runs: RunRow[] }

/** `before`: by `containerKey`, as it was last written down. Containers of others than versions are not ours. */
export async function lookAtContainers(
  runtime: Pick<Runtime, 'observe'>,
  before: ReadonlyMap<string, ContainerRow>,
): Promise<ContainersLook> {
  const looks = (await runtime.observe()).flatMap((observation) => lookAt(observation, before) ?? [])
  return {
    containers: new Map(looks.map(({ row }) => [containerKey(row), row])),
    runs: looks.flatMap(({ runs }) => runs),
  }
}

function lookAt(o: Observation, seen: ReadonlyMap<string, ContainerRow>): { row: ContainerRow; runs: RunRow[] } | null {
  const id = parseWorkloadId(o.workload)
  if (!id) return null
  const { container, state, since, retryAt, reason, run, lastRun } = o
  const of = { ...id, container }
  const before = seen.get(containerKey(of))
  const hasNewRun = run !== null && run.id !== before?.run
  const hasNewEnd = (hasNewRun || run === null) && (lastRun?.id !== before?.run || lastRun?.how !== before?.runEnd)
  return {
    row: { ...countRuns(before, o), ...of, state, since, retryAt, reason },
    runs: [
      ...(lastRun && hasNewEnd ? [{ ...of, ...endedRow(lastRun) }] : []),
      ...(hasNewRun ? [{ ...of, ...goingOnRow(run) }] : []),
    ],
  }
}

const goingOnRow = ({ id, ordinal, startedAt }: Run) => ({
  run: id,
  ordinal,
  startedAt,
  endedAt: null,
  exitCode: null,
  how: null,
  oomKills: null,
})

const endedRow = ({ endedAt, exitCode, how, oomKills, ...run }: LastRun) => ({
  ...goingOnRow(run),
  endedAt,
  exitCode,
  how,
  oomKills,
})
