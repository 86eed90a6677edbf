import type { App } from '../../app.ts'
import type { ContainersReading } from './containers/observe-containers.ts'
import {
  deleteContainers,
  deleteSources,
  putApis,
  putContainers,
  putProcessors,
  putRuns,
  putSources,
  selectObservations,
  type ApiRow,
  type ContainerRow,
  type ProcessorRow,
  type SourceRow,
} from './observe-store.ts'
import { containerKey } from '../container-key.ts'
import { existingSquids } from '../versions/index.ts'
import { forEachInSlices } from '../../collections/slices.ts'

/** The observations last recorded, by `containerKey`, so that only changes are written. */
export type ObservationCache = {
  readonly containers: ReadonlyMap<string, ContainerRow>
  readonly processors: ReadonlyMap<string, ProcessorRow>
  readonly apis: ReadonlyMap<string, ApiRow>
  /** Replaces the recorded containers with those of the reading. Deletes the observations of all other containers. */
  recordContainers: (reading: ContainersReading) => Promise<void>
  recordProcessors: (changes: Map<string, ProcessorRow>) => Promise<void>
  recordApis: (changes: Map<string, ApiRow>) => Promise<void>
  /** Replaces the recorded data sources with those that do not respond now. */
  recordSources: (failing: Map<string, SourceRow>) => Promise<void>
}

/** Limits the rows of a container that crashes for days. */
const maxRunsPerContainer = 50

/** Compares two rows, whose columns are scalars or dates. A general comparison takes ten times as long, once a second for each container. */
function isSameRow<R extends object>(row: R, before: R | undefined): boolean {
  if (row === before) return true
  if (!before) return false
  for (const column in row) {
    const [value, other] = [row[column], before[column]]
    if (value instanceof Date && other instanceof Date ? value.getTime() !== other.getTime() : value !== other)
      return false
  }
  return true
}

/** Loads the observations recorded by the previous worker. */
export async function loadObservationCache({ db, log }: Pick<App, 'db' | 'log'>): Promise<ObservationCache> {
  const rows = await selectObservations(db)
  const containers = new Map(rows.containers.map((row) => [containerKey(row), row]))
  const processors = new Map(rows.processors.map((row) => [containerKey({ ...row, container: row.processor }), row]))
  const apis = new Map(rows.apis.map((row) => [containerKey(row), row]))
  const sources = new Map(rows.sources.map((row) => [containerKey({ ...row, container: row.processor }), row]))

  let lastWrite: Promise<unknown> = Promise.resolve()
  /** Runs one write at a time, so that no observation of a container is written after the container was deleted. */
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const result = lastWrite.then(work)
    lastWrite = result.catch(() => undefined)
    return result
  }

  const deleteRemoved = async (removed: ContainerRow[]) => {
    if (removed.length === 0) return
    await deleteContainers(db, removed)
    for (const row of removed)
      for (const rows of [containers, processors, apis, sources]) rows.delete(containerKey(row))
  }

  /** Writes the changes of versions that still exist, to the database and then to the cache. */
  const record = async <R extends { squidId: number }>(
    rows: Map<string, R>,
    changes: [key: string, row: R][],
    put: (rows: R[]) => Promise<void>,
  ) => {
    if (changes.length === 0) return
    const existing = await existingSquids(db, [...new Set(changes.map(([, row]) => row.squidId))])
    const remaining = changes.filter(([, row]) => existing.has(row.squidId))
    await put(remaining.map(([, row]) => row))
    for (const [key, row] of remaining) rows.set(key, row)
  }

  const changesOfExistingContainers = <R>(changes: Map<string, R>) =>
    [...changes].filter(([key]) => containers.has(key))

  return {
    containers,
    processors,
    apis,
    recordContainers: ({ containers: current, runs }) =>
      inOrder(async () => {
        const changed: [string, ContainerRow][] = []
        await forEachInSlices(current, ([key, row]) => {
          if (!isSameRow(row, containers.get(key))) changed.push([key, row])
          // Keeps the object that `current` has, so that the next reading need not compare columns.
          else if (containers.get(key) !== row) containers.set(key, row)
        })
        await record(containers, changed, async (batch) => {
          const written = new Set(batch.map(containerKey))
          const runsOfWritten = runs.filter((run) => written.has(containerKey(run)))
          await db.transaction(async (tx) => {
            await putContainers({ db: tx, log }, batch)
            await putRuns({ db: tx, log }, runsOfWritten, maxRunsPerContainer)
          })
        })
        const removed: ContainerRow[] = []
        await forEachInSlices(containers, ([key, row]) => void (current.has(key) || removed.push(row)))
        await deleteRemoved(removed)
      }),
    recordProcessors: (changes) =>
      inOrder(() =>
        record(processors, changesOfExistingContainers(changes), (batch) => putProcessors({ db, log }, batch)),
      ),
    recordApis: (changes) =>
      inOrder(() => record(apis, changesOfExistingContainers(changes), (batch) => putApis({ db, log }, batch))),
    recordSources: (failing) =>
      inOrder(async () => {
        const changed = changesOfExistingContainers(failing).filter(([key, row]) => !isSameRow(row, sources.get(key)))
        await record(sources, changed, (batch) => putSources({ db, log }, batch))
        const resolved = [...sources].filter(([key]) => !failing.has(key))
        if (resolved.length === 0) return
        await deleteSources(
          db,
          resolved.map(([, row]) => row),
        )
        for (const [key] of resolved) sources.delete(key)
      }),
  }
}
