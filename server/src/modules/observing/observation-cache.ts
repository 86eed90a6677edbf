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

/** What was last written down, by `containerKey`; so that only changes are written. */
export type ObservationCache = {
  readonly containers: ReadonlyMap<string, ContainerRow>
  readonly processors: ReadonlyMap<string, ProcessorRow>
  readonly apis: ReadonlyMap<string, ApiRow>
  /** All containers there are now. What was seen of others is forgotten. */
  recordContainers: (now: ContainersLook) => Promise<void>
  recordProcessors: (news: Map<string, ProcessorRow>) => Promise<void>
  recordApis: (news: Map<string, ApiRow>) => Promise<void>
  /** All sources of which nothing is heard now. */
  recordSources: (now: Map<string, SourceRow>) => Promise<void>
}

/** Of each container. */
const keptRuns = 50

type ContainerName = { squidId: number; generation: number; container: string }

export const containerKey = ({ squidId, generation, container }: ContainerName): string =>
  `${squidId}.${generation}/${container}`

/** As the worker before left it. */
export async function loadObservationCache({ db }: Pick<App, 'db'>): Promise<ObservationCache> {
  const rows = await selectObservations(db)
  const containers = new Map(rows.containers.map((row) => [containerKey(row), row]))
  const processors = new Map(rows.processors.map((row) => [containerKey({ ...row, container: row.processor }), row]))
  const apis = new Map(rows.apis.map((row) => [containerKey(row), row]))
  const sources = new Map(rows.sources.map((row) => [containerKey({ ...row, container: row.processor }), row]))

  let last: Promise<unknown> = Promise.resolve()
  /** One after the other: what is seen of a container must not be written when it was just forgotten. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }

  const evict = async (gone: ContainerRow[]) => {
    if (gone.length === 0) return
    await deleteContainers(db, gone)
    for (const row of gone) for (const seen of [containers, processors, apis, sources]) seen.delete(containerKey(row))
  }

  /** Of the versions that were not deleted meanwhile. */
  const note = async <R extends { squidId: number }>(
    seen: Map<string, R>,
    news: [key: string, row: R][],
    put: (rows: R[]) => Promise<void>,
  ) => {
    if (news.length === 0) return
    const existing = await existingSquids(db, [...new Set(news.map(([, row]) => row.squidId))])
    const noted = news.filter(([, row]) => existing.has(row.squidId))
    await put(noted.map(([, row]) => row))
    for (const [key, row] of noted) seen.set(key, row)
  }

  const ofContainers = <R>(news: Map<string, R>) => [...news].filter(([key]) => containers.has(key))

  return {
    containers,
    processors,
    apis,
    recordContainers: ({ containers: now, runs }) =>
      inTurn(async () => {
        const changed = [...now].filter(([key, row]) => !isDeepStrictEqual(row, containers.get(key)))
        await note(containers, changed, async (some) => {
          const written = new Set(some.map(containerKey))
          const theirs = runs.filter((run) => written.has(containerKey(run)))
          await db.transaction(async (tx) => {
            await putContainers(tx, some)
            await putRuns(tx, theirs, keptRuns)
          })
        })
        await evict([...containers].filter(([key]) => !now.has(key)).map(([, row]) => row))
      }),
    recordProcessors: (news) => inTurn(() => note(processors, ofContainers(news), (some) => putProcessors(db, some))),
    recordApis: (news) => inTurn(() => note(apis, ofContainers(news), (some) => putApis(db, some))),
    recordSources: (now) =>
      inTurn(async () => {
        const changed = ofContainers(now).filter(([key, row]) => !isDeepStrictEqual(row, sources.get(key)))
        await note(sources, changed, (some) => putSources(db, some))
        const gone = [...sources].filter(([key]) => !now.has(key))
        if (gone.length === 0) return
        await deleteSources(
          db,
          gone.map(([, row]) => row),
        )
        for (const [key] of gone) sources.delete(key)
      }),
  }
}
