import type { ClientBase } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { dayOf, days } from '../../../clock.ts'
import { every } from '../../../db/every.ts'
import { measured } from '../../../health/loops.ts'
import { runAsLeader, type LeaderHandle } from '../../../db/leases.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { containerKey } from '../../container-key.ts'
import { applyRetention } from '../rollup/retention.ts'
import { rollUp } from '../rollup/roll-up.ts'
import { forEachInSlices } from '../../../collections/slices.ts'
import { DatabaseMeter } from './database-usage.ts'
import { readAllCounters } from './read-counters.ts'
import { deleteCountersBefore, insertSamples, putCounters, putSampledAt, selectCounters } from './sample-store.ts'
import {
  addSample,
  countersOf,
  sampleOf,
  type Counters,
  type CounterReading,
  type SamplesByContainer,
} from './sample.ts'

/**
 * `everyMs`: the interval of samples. `idleRatio`: the pause after a roll-up as a multiple of its duration; with 19,
 * roll-ups take at most a twentieth of the time.
 */
export type SamplingIntervals = { everyMs: number; idleRatio: number }

const defaultIntervals: SamplingIntervals = { everyMs: 15_000, idleRatio: 19 }

/** Samples every container and database, and rolls samples up. Only one worker at a time does this. */
export function startSampling(app: WorkerApp, intervals: SamplingIntervals = defaultIntervals): LeaderHandle {
  return runAsLeader(app.database, app.log, 'metrics', async (client, signal) => {
    const sampler = await openSampler(app, client, intervals)
    // A failed sample leaves a gap.
    const logFailure = (error: unknown) => app.log.warn({ err: error }, 'sampling failed')
    const round = measured(app, 'sampling', intervals.everyMs, sampler.tick)
    await every(signal, { ms: intervals.everyMs, isFixedRate: true, onError: logFailure }, round)
  })
}

/** Samples all containers and databases. */
export type Sampler = {
  /** Samples once, and rolls up when due. */
  tick: () => Promise<void>
}

/** Creates a sampler that continues from the counters of the previous one. All writes use `client`. */
export async function openSampler(
  app: WorkerApp,
  client: ClientBase,
  { idleRatio }: Pick<SamplingIntervals, 'idleRatio'> = defaultIntervals,
): Promise<Sampler> {
  const meters = new Map(app.databaseHosts.all.map(({ name, cluster }) => [name, new DatabaseMeter(cluster)]))
  const lastCounters = new Map((await selectCounters(client)).map((row) => [containerKey(row), row]))
  let currentDay = ''
  let nextRollUpMs = 0

  /** Creates the partitions of today before the first write, and drops expired days at the start of each day. */
  const startDay = async (nowMs: number) => {
    if (currentDay === dayOf(nowMs)) return
    await rollUp(app, client)
    await applyRetention(app, client)
    await deleteCountersBefore(client, nowMs - days(1))
    currentDay = dayOf(nowMs)
  }

  return {
    tick: async () => {
      const nowMs = app.clock.now().getTime()
      await startDay(nowMs)
      const readings = await readAllCounters(app, client, meters)
      const samples: SamplesByContainer = new Map()
      const counters: Counters[] = []
      await forEachInSlices(readings, (reading) => {
        const before = lastCounters.get(containerKey(reading))
        const block = reading.lastBlock === null ? null : blockBefore(lastCounters, reading)
        addSample(samples, sampleOf(reading, before, block))
        counters.push(countersOf(reading, before))
      })
      await inTransaction(client, async () => {
        await insertSamples(client, nowMs, [...samples.values()])
        await putCounters(client, counters)
        await putSampledAt(client, nowMs)
      })
      await forEachInSlices(counters, (row) => void lastCounters.set(containerKey(row), row))
      evictOldCounters(lastCounters, nowMs)
      if (performance.now() < nextRollUpMs) return
      const startedMs = performance.now()
      await rollUp(app, client)
      nextRollUpMs = performance.now() + idleRatio * (performance.now() - startedMs)
    },
  }
}

/** How many earlier generations are searched: a processor may not have run in some of them, because their deployment failed. */
const maxGenerationsBack = 5

/** Returns the last block of a processor; null if unknown. A new generation continues where the previous one ended. */
function blockBefore(lastCounters: ReadonlyMap<string, Counters>, reading: CounterReading): number | null {
  for (let generationsBack = 0; generationsBack <= maxGenerationsBack; generationsBack++) {
    const block = lastCounters.get(
      containerKey({ ...reading, generation: reading.generation - generationsBack }),
    )?.lastBlock
    if (block != null) return block
  }
  return null
}

function evictOldCounters(lastCounters: Map<string, Counters>, nowMs: number): void {
  for (const [key, { atMs }] of lastCounters) if (atMs < nowMs - days(1)) lastCounters.delete(key)
}
