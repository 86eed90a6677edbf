import { isDeepStrictEqual } from 'node:util'
import type { App } from '../../app.ts'
import type { ContainersLook } from './containers/observe-containers.ts'
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
import { existingSquids } from '../versions/index.ts'

/** The observations last recorded, by `containerKey`, so that only changes are written. */
export type ObservationCache = {
  readonly containers: ReadonlyMap<string, ContainerRow>
  readonly processors: ReadonlyMap<string, ProcessorRow>
  readonly apis: ReadonlyMap<string, ApiRow>
  /** Records all existing containers. Observations of other containers are deleted. */
  recordContainers: (now: ContainersLook) => Promise<void>
  recordProcessors: (news: Map<string, ProcessorRow>) => Promise<void>
  recordApis: (news: Map<string, ApiRow>) => Promise<void>
  /** Records all data sources that do not respond now. The rows of others are deleted. */
  recordSources: (now: Map<string, SourceRow>) => Promise<void>
}

/** Runs kept per container. */
const keptRuns = 50

type ContainerName = { squidId: number; generation: number; container: string }

export const containerKey = ({ squidId, generation, container }: ContainerName): string =>
  `${squidId}.${generation}/${container}`

/** Loads the observations recorded by the previous worker. */
export async function loadObservationCache({ db }: Pick<App, 'db'>): Promise<ObservationCache> {
  const rows = await selectObservations(db)
  const containers = new Map(rows.containers.map((row) => [containerKey(row), row]))
  const processors = new Map(rows.processors.map((row) => [containerKey({ ...row, container: row.processor }), row]))
  const apis = new Map(rows.apis.map((row) => [containerKey(row), row]))
  const sources = new Map(rows.sources.map((row) => [containerKey({ ...row, container: row.processor }), row]))

  let last: Promise<unknown> = Promise.resolve()
  /** Runs writes one at a time: an observation of a container must not be written after the container was deleted. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }

  const evict = async (removed: ContainerRow[]) => {
    if (removed.length === 0) return
    await deleteContainers(db, removed)
    for (const row of removed)
      for (const seen of [containers, processors, apis, sources]) seen.delete(containerKey(row))
  }

  /** Writes the changes of versions that still exist, to the database and then to the cache. */
  const record = async <R extends { squidId: number }>(
    seen: Map<string, R>,
    news: [key: string, row: R][],
    put: (rows: R[]) => Promise<void>,
  ) => {
    if (news.length === 0) return
    const existing = await existingSquids(db, [...new Set(news.map(([, row]) => row.squidId))])
    const kept = news.filter(([, row]) => existing.has(row.squidId))
    await put(kept.map(([, row]) => row))
    for (const [key, row] of kept) seen.set(key, row)
  }

  const ofContainers = <R>(news: Map<string, R>) => [...news].filter(([key]) => containers.has(key))

  return {
    containers,
    processors,
    apis,
    recordContainers: ({ containers: now, runs }) =>
      inTurn(async () => {
        const changed = [...now].filter(([key, row]) => !isDeepStrictEqual(row, containers.get(key)))
        await record(containers, changed, async (some) => {
          const written = new Set(some.map(containerKey))
          const runsOfWritten = runs.filter((run) => written.has(containerKey(run)))
          await db.transaction(async (tx) => {
            await putContainers(tx, some)
            await putRuns(tx, runsOfWritten, keptRuns)
          })
        })
        await evict([...containers].filter(([key]) => !now.has(key)).map(([, row]) => row))
      }),
    recordProcessors: (news) => inTurn(() => record(processors, ofContainers(news), (some) => putProcessors(db, some))),
    recordApis: (news) => inTurn(() => record(apis, ofContainers(news), (some) => putApis(db, some))),
    recordSources: (now) =>
      inTurn(async () => {
        const changed = ofContainers(now).filter(([key, row]) => !isDeepStrictEqual(row, sources.get(key)))
        await record(sources, changed, (some) => putSources(db, some))
        const resolved = [...sources].filter(([key]) => !now.has(key))
        if (resolved.length === 0) return
        await deleteSources(
          db,
          resolved.map(([, row]) => row),
        )
        for (const [key] of resolved) sources.delete(key)
      }),
  }
}
