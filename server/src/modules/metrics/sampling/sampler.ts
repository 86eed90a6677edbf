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

/** `idleRatio`: longer levels are made anew after so many times the time that took: no more than a twentieth of all time. */
export type SamplingIntervals = { everyMs: number; idleRatio: number }

const defaultIntervals: SamplingIntervals = { everyMs: 15_000, idleRatio: 19 }

/** Samples every container and database, and makes minutes, hours, days and months of it. One worker at a time does it. */
export function startSampling(app: WorkerApp, pace: SamplingIntervals = defaultIntervals): LeaderHandle {
  return runAsLeader(app.database, app.log, 'metrics', async (client, signal) => {
    const sampler = await openSampler(app, client, pace)
    // One failed sample is a gap: the next one comes.
    const failed = (error: unknown) => app.log.warn({ err: error }, 'a sample of the versions failed')
    await every(signal, { ms: pace.everyMs, isFixedRate: true, onError: failed }, sampler.tick)
  })
}

export type Sampler = {
  /** Samples once, and makes longer levels when that is due. */
  tick: () => Promise<void>
}

/** Goes on from where the sampler before it ended, whatever ended it. All it writes goes through `client`. */
export async function openSampler(
  app: WorkerApp,
  client: ClientBase,
  { idleRatio }: Pick<SamplingIntervals, 'idleRatio'> = defaultIntervals,
): Promise<Sampler> {
  const meter = new DatabaseMeter(app.squidsDatabase)
  const known = new Map((await selectCounters(client)).map((row) => [keyOf(row), row]))
  let day = ''
  let rollAtMs = 0

  /** Makes room for today before anything is written, and what is past goes when a day begins. */
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
      const looks = await readAllCounters(app, client, meter)
      const before = (look: CounterReading) => known.get(keyOf(look))
      const samples = addUp(looks.map((look) => sampleOf(look, before(look), blockBefore(known, look))))
      const counters = looks.map((look) => countersOf(look, before(look)))
      await inTransaction(client, async () => {
        await insertSamples(client, nowMs, samples)
        await putCounters(client, counters)
      })
      for (const row of counters) known.set(keyOf(row), row)
      deleteOld(known, nowMs)
      if (performance.now() < rollAtMs) return
      const startedMs = performance.now()
      await rollUp(app, client)
      rollAtMs = performance.now() + idleRatio * (performance.now() - startedMs)
    },
  }
}

const keyOf = ({ squidId, generation, container }: Pick<Counters, 'squidId' | 'generation' | 'container'>) =>
  `${squidId}.${generation}/${container}`

/** The processor of a new generation goes on where the one before it ended. */
function blockBefore(known: ReadonlyMap<string, Counters>, look: CounterReading): number | null {
  for (let back = 0; back <= 5; back++) {
    const block = known.get(keyOf({ ...look, generation: look.generation - back }))?.lastBlock
    if (block != null) return block
  }
  return null
}

function deleteOld(known: Map<string, Counters>, nowMs: number): void {
  for (const [key, { atMs }] of known) if (atMs < nowMs - days(1)) known.delete(key)
}
