import type { ClientBase } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { days } from '../../../clock.ts'
import { dayOf } from '../../../db/day-partitions.ts'
import { every } from '../../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../../db/leases.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { keepDays } from '../rollup/retention.ts'
import { rollUp } from '../rollup/roll-up.ts'
import { DatabaseMeter } from './database-usage.ts'
import { readAllCounters } from './read-counters.ts'
import { deleteCountersBefore, insertSamples, putCounters, selectCounters } from './sample-store.ts'
import { addUp, countersOf, sampleOf, type Counters, type CounterReading } from './sample.ts'

/** `idleRatio`: after a roll-up the sampler waits this many times its duration, so that it takes at most a twentieth of the time. */
export type SamplingIntervals = { everyMs: number; idleRatio: number }

const defaultIntervals: SamplingIntervals = { everyMs: 15_000, idleRatio: 19 }

/** Samples every container and database, and rolls samples up. One worker at a time does it. */
export function startSampling(app: WorkerApp, pace: SamplingIntervals = defaultIntervals): LeaderHandle {
  return runAsLeader(app.database, app.log, 'metrics', async (client, signal) => {
    const sampler = await openSampler(app, client, pace)
    // A failed sample is a gap; the next one follows.
    const failed = (error: unknown) => app.log.warn({ err: error }, 'sampling failed')
    await every(signal, { ms: pace.everyMs, isFixedRate: true, onError: failed }, sampler.tick)
  })
}

export type Sampler = {
  /** Samples once, and rolls up when due. */
  tick: () => Promise<void>
}

/** Continues where the previous sampler ended. All writes use `client`. */
export async function openSampler(
  app: WorkerApp,
  client: ClientBase,
  { idleRatio }: Pick<SamplingIntervals, 'idleRatio'> = defaultIntervals,
): Promise<Sampler> {
  const meter = new DatabaseMeter(app.squidsDatabase)
  const lastCounters = new Map((await selectCounters(client)).map((row) => [keyOf(row), row]))
  let day = ''
  let rollAtMs = 0

  /** Creates the partitions of today before the first write, and drops expired days when a day begins. */
  const turnDay = async (nowMs: number) => {
    if (day === dayOf(nowMs)) return
    await rollUp(app, client)
    await keepDays(app, client)
    await deleteCountersBefore(client, nowMs - days(1))
    day = dayOf(nowMs)
  }

  return {
    tick: async () => {
      const nowMs = app.clock.now().getTime()
      await turnDay(nowMs)
      const readings = await readAllCounters(app, client, meter)
      const before = (reading: CounterReading) => lastCounters.get(keyOf(reading))
      const samples = addUp(
        readings.map((reading) => sampleOf(reading, before(reading), blockBefore(lastCounters, reading))),
      )
      const counters = readings.map((reading) => countersOf(reading, before(reading)))
      await inTransaction(client, async () => {
        await insertSamples(client, nowMs, samples)
        await putCounters(client, counters)
      })
      for (const row of counters) lastCounters.set(keyOf(row), row)
      deleteOld(lastCounters, nowMs)
      if (performance.now() < rollAtMs) return
      const startedMs = performance.now()
      await rollUp(app, client)
      rollAtMs = performance.now() + idleRatio * (performance.now() - startedMs)
    },
  }
}

const keyOf = ({ squidId, generation, container }: Pick<Counters, 'squidId' | 'generation' | 'container'>) =>
  `${squidId}.${generation}/${container}`

/** The processor of a new generation continues where the previous one ended. */
function blockBefore(lastCounters: ReadonlyMap<string, Counters>, reading: CounterReading): number | null {
  for (let back = 0; back <= 5; back++) {
    const block = lastCounters.get(keyOf({ ...reading, generation: reading.generation - back }))?.lastBlock
    if (block != null) return block
  }
  return null
}

function deleteOld(lastCounters: Map<string, Counters>, nowMs: number): void {
  for (const [key, { atMs }] of lastCounters) if (atMs < nowMs - days(1)) lastCounters.delete(key)
}
