import type { LastRun, Observation, Run, Runtime } from '@shoal/runtime'
import type { Clock } from '../../../clock.ts'
import { countRuns } from './count-runs.ts'
import type { ContainerRow, RunRow } from '../observe-store.ts'
import { containerKey } from '../../container-key.ts'
import { parseWorkloadId } from '../../manifest/index.ts'
import { forEachInSlices } from '../../../collections/slices.ts'

/** All containers of versions at one moment, and the runs that changed since they were last recorded. */
export type ContainersReading = { containers: Map<string, ContainerRow>; runs: RunRow[] }

/** The last observation of each container with its row, by workload and name. */
export type LastReadings = Map<string, { key: string; observation: Observation; row: ContainerRow }>

/**
 * Reads the containers of all versions. `before`: the rows last recorded, by `containerKey`. `last`: the previous readings, which this
 * reading replaces; the rows of unchanged containers are reused, because most containers of a large installation do not change.
 */
export async function readContainers(
  { clock, runtime }: { clock: Clock; runtime: Pick<Runtime, 'observe'> },
  before: ReadonlyMap<string, ContainerRow>,
  last: LastReadings = new Map(),
): Promise<ContainersReading> {
  const now = clock.now()
  const containers = new Map<string, ContainerRow>()
  const runs: RunRow[] = []
  const observations = await runtime.observe()
  await forEachInSlices(observations, (observation) => {
    const name = `${observation.workload}/${observation.container}`
    const known = last.get(name)
    if (
      known &&
      known.row.since <= now &&
      before.get(known.key) === known.row &&
      isSame(observation, known.observation)
    ) {
      containers.set(known.key, known.row)
      return
    }
    const reading = readContainer(observation, before, now)
    if (!reading) return
    const key = containerKey(reading.row)
    containers.set(key, reading.row)
    runs.push(...reading.runs)
    last.set(name, { key, observation, row: reading.row })
  })
  if (last.size > containers.size) for (const [name, { key }] of last) if (!containers.has(key)) last.delete(name)
  return { containers, runs }
}

/** Whether two observations of a container result in the same row. */
function isSame(one: Observation, other: Observation): boolean {
  return (
    one.state === other.state &&
    one.since.getTime() === other.since.getTime() &&
    one.run?.id === other.run?.id &&
    one.lastRun?.id === other.lastRun?.id &&
    one.lastRun?.how === other.lastRun?.how &&
    one.lastRun?.exitCode === other.lastRun?.exitCode &&
    one.reason === other.reason &&
    one.retryAt?.getTime() === other.retryAt?.getTime() &&
    one.diskFullSince?.getTime() === other.diskFullSince?.getTime()
  )
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
