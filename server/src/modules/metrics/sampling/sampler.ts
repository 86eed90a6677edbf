import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientBase } from 'pg'
import type { App } from '../../../app.ts'
import { days } from '../../../clock.ts'
import { dayOf } from '../../../db/day-partitions.ts'
import { startLeading, type Leading } from '../../../db/leader.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { keepDays } from '../rollup/retention.ts'
import { rollUp } from '../rollup/roll-up.ts'
import { DatabaseMeter } from './database-usage.ts'
import { lookAtAll } from './look.ts'
import { forgetCountersBefore, insertSamples, putCounters, selectCounters } from './sample-store.ts'
import { addUp, sampleOf, type Counters, type Look } from './sample.ts'

/** `restPerWork`: longer levels are made anew after so many times the time that took: no more than a twentieth of all time. */
export type SamplingPace = { everyMs: number; restPerWork: number }

const defaultPace: SamplingPace = { everyMs: 15_000, restPerWork: 19 }

/** Samples every container and database, and makes minutes, hours, days and months of it. One worker at a time does it. */
export function startSampling(app: App, pace: SamplingPace = defaultPace): Leading {
  return startLeading(app.database, app.log, 'metrics', async (client, signal) => {
    const sampler = await openSampler(app, client, pace)
    while (!signal.aborted) {
      const startedMs = performance.now()
      // One failed sample is a gap: the next one comes.
      await sampler.tick().catch((error: unknown) => {
        if (!signal.aborted) app.log.warn({ err: error }, 'a sample of the versions failed')
      })
      const leftMs = Math.max(0, pace.everyMs - (performance.now() - startedMs))
      await sleep(leftMs, undefined, { signal }).catch(() => undefined)
    }
  })
}

export type Sampler = {
  /** Samples once, and makes longer levels when that is due. */
  tick: () => Promise<void>
}

/** Goes on from where the sampler before it ended, whatever ended it. All it writes goes through `client`. */
export async function openSampler(
  app: App,
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
      const samples = addUp(looks.map((look) => sampleOf(look, beforeOf(known, look))))
      await inTransaction(client, async () => {
        await insertSamples(client, nowMs, samples)
        await putCounters(client, looks)
      })
      for (const look of looks) known.set(keyOf(look), look)
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

/** A new generation counts from nothing, but its processor goes on where the one before it ended. */
function beforeOf(known: ReadonlyMap<string, Counters>, look: Look): Counters | undefined {
  const own = known.get(keyOf(look))
  if (own?.lastBlock != null || look.lastBlock === null) return own
  for (let generation = look.generation - 1; generation >= Math.max(0, look.generation - 5); generation--) {
    const older = known.get(keyOf({ ...look, generation }))
    if (older?.lastBlock != null) return own ? { ...own, lastBlock: older.lastBlock } : undefined
  }
  return own
}

function forgetOld(known: Map<string, Counters>, nowMs: number): void {
  for (const [key, { atMs }] of known) if (atMs < nowMs - days(1)) known.delete(key)
}
