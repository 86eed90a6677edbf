import type { LastRun, Observation, Run, Runtime } from '@shoal/runtime'
import type { Clock } from '../../../clock.ts'
import { countRuns } from './count-runs.ts'
import type { ContainerRow, RunRow } from '../observe-store.ts'
import { containerKey } from '../../container-key.ts'
import { parseWorkloadId } from '../../manifest/index.ts'

/** All containers of versions at one moment, and the runs that changed since they were last recorded. */
export type ContainersReading = { containers: Map<string, ContainerRow>; runs: RunRow[] }

/** Reads the containers of all versions. `before`: the rows last recorded, by `containerKey`. */
export async function readContainers(
  { clock, runtime }: { clock: Clock; runtime: Pick<Runtime, 'observe'> },
  before: ReadonlyMap<string, ContainerRow>,
): Promise<ContainersReading> {
  const now = clock.now()
  const readings = (await runtime.observe()).flatMap((observation) => readContainer(observation, before, now) ?? [])
  return {
    containers: new Map(readings.map(({ row }) => [containerKey(row), row])),
    runs: readings.flatMap(({ runs }) => runs),
  }
}

function readContainer(
  observation: Observation,
  previous: ReadonlyMap<string, ContainerRow>,
  now: Date,
): { row: ContainerRow; runs: RunRow[] } | null {
  const id = parseWorkloadId(observation.workload)
  if (!id) return null
  const { container, state, retryAt, reason, diskFullSince, run, lastRun } = observation
  const key = { ...id, container }
  const before = previous.get(containerKey(key))
  const hasNewRun = run !== null && run.id !== before?.run
  const hasNewEnd = (hasNewRun || run === null) && (lastRun?.id !== before?.run || lastRun?.how !== before?.runEnd)
  const counts = countRuns(before, observation)
  const isUnchanged = before?.state === state && before.run === counts.run
  // Limits the start to the present, because the clock of the host may have been set back.
  const since = earliest(observation.since, now, ...(isUnchanged ? [before.since] : []))
  return {
    row: { ...counts, ...key, state, since, retryAt, reason, diskFullSince },
    runs: [
      ...(lastRun && hasNewEnd ? [{ ...key, ...endedRow(lastRun) }] : []),
      ...(hasNewRun ? [{ ...key, ...currentRow(run) }] : []),
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
