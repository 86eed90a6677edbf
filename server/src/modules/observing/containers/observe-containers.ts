import type { LastRun, Observation, Run, Runtime } from '@shoal/runtime'
import type { Clock } from '../../../clock.ts'
import { countRuns } from './count-runs.ts'
import type { ContainerRow, RunRow } from '../observe-store.ts'
import { containerKey } from '../observation-cache.ts'
import { parseWorkloadId } from '../../manifest/index.ts'

/** All containers of versions at one moment, and the runs that changed since they were last recorded. */
export type ContainersLook = { containers: Map<string, ContainerRow>; runs: RunRow[] }

/** Reads the containers of all versions. `before`: the rows last recorded, by `containerKey`. */
export async function readContainers(
  { clock, runtime }: { clock: Clock; runtime: Pick<Runtime, 'observe'> },
  before: ReadonlyMap<string, ContainerRow>,
): Promise<ContainersLook> {
  const now = clock.now()
  const changes = (await runtime.observe()).flatMap((observation) => readContainer(observation, before, now) ?? [])
  return {
    containers: new Map(changes.map(({ row }) => [containerKey(row), row])),
    runs: changes.flatMap(({ runs }) => runs),
  }
}

function readContainer(
  o: Observation,
  seen: ReadonlyMap<string, ContainerRow>,
  now: Date,
): { row: ContainerRow; runs: RunRow[] } | null {
  const id = parseWorkloadId(o.workload)
  if (!id) return null
  const { container, state, retryAt, reason, run, lastRun } = o
  const of = { ...id, container }
  const before = seen.get(containerKey(of))
  const hasNewRun = run !== null && run.id !== before?.run
  const hasNewEnd = (hasNewRun || run === null) && (lastRun?.id !== before?.run || lastRun?.how !== before?.runEnd)
  const counts = countRuns(before, o)
  const isSame = before?.state === state && before.run === counts.run
  // The clock of the host may have been set back; a start must not be in the future.
  const since = earliest(o.since, now, ...(isSame ? [before.since] : []))
  return {
    row: { ...counts, ...of, state, since, retryAt, reason },
    runs: [
      ...(lastRun && hasNewEnd ? [{ ...of, ...endedRow(lastRun) }] : []),
      ...(hasNewRun ? [{ ...of, ...currentRow(run) }] : []),
    ],
  }
}

const earliest = (...times: Date[]) => new Date(Math.min(...times.map((time) => time.getTime())))

const currentRow = ({ id, ordinal, startedAt }: Run) => ({
  run: id,
  ordinal,
  startedAt,
  endedAt: null,
  exitCode: null,
  how: null,
  oomKills: null,
})

const endedRow = ({ endedAt, exitCode, how, oomKills, ...run }: LastRun) => ({
  ...currentRow(run),
  endedAt,
  exitCode,
  how,
  oomKills,
})
