import type { ClientBase } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { days } from '../../../clock.ts'
import { dayOf } from '../../../db/day-partitions.ts'
import { every } from '../../../db/every.ts'
import { startLeading, type Leading } from '../../../db/leases.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { keepDays } from '../rollup/retention.ts'
import { rollUp } from '../rollup/roll-up.ts'
import { DatabaseMeter } from './database-usage.ts'
import { lookAtAll } from './look.ts'
import { forgetCountersBefore, insertSamples, putCounters, selectCounters } from './sample-store.ts'
import { addUp, countersOf, sampleOf, type Counters, type Look } from './sample.ts'

/** `restPerWork`: longer levels are made anew after so many times the time that took: no more than a twentieth of all time. */
export type SamplingPace = { everyMs: number; restPerWork: number }

const defaultPace: SamplingPace = { everyMs: 15_000, restPerWork: 19 }

/** Samples every container and database, and makes minutes, hours, days and months of it. One worker at a time does it. */
export function startSampling(app: WorkerApp, pace: SamplingPace = defaultPace): Leading {
  return startLeading(app.database, app.log, 'metrics', async (client, signal) => {
    const sampler = await openSampler(app, client, pace)
    // One failed sample is a gap: the next one comes.
    const failed = (error: unknown) => app.log.warn({ err: error }, 'a sample of the versions failed')
    await every(signal, { ms: pace.everyMs, isRhythm: true, failed }, sampler.tick)
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
  { restPerWork }: Pick<SamplingPace, 'restPerWork'> = defaultPace,
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
    await forgetCountersBefore(client, nowMs - days(1))
    day = dayOf(nowMs)
  }

  return {
    tick: async () => {
      const nowMs = app.clock.now().getTime()
      await turnDay(nowMs)
      const looks = await lookAtAll(app, client, meter)
      const before = (look: Look) => known.get(keyOf(look))
      const samples = addUp(looks.map((look) => sampleOf(look, before(look), blockBefore(known, look))))
      const counters = looks.map((look) => countersOf(look, before(look)))
      await inTransaction(client, async () => {
        await insertSamples(client, nowMs, samples)
        await putCounters(client, counters)
      })
      for (const row of counters) known.set(keyOf(row), row)
      forgetOld(known, nowMs)
      if (performance.now() < rollAtMs) return
      const startedMs = performance.now()
      await rollUp(app, client)
      rollAtMs = performance.now() + restPerWork * (performance.now() - startedMs)
    },
  }
}

const keyOf = ({ squidId, generation, container }: Pick<Counters, 'squidId' | 'generation' | 'container'>) =>
  `${squidId}.${generation}/${container}`

/** The processor of a new generation goes on where the one before it ended. */
function blockBefore(known: ReadonlyMap<string, Counters>, look: Look): number | null {
  for (let back = 0; back <= 5; back++) {
    const block = known.get(keyOf({ ...look, generation: look.generation - back }))?.lastBlock
    if (block != null) return block
  }
  return null
}

function forgetOld(known: Map<string, Counters>, nowMs: number): void {
  for (const [key, { atMs }] of known) if (atMs < nowMs - days(1)) known.delete(key)
}
