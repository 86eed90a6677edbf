import { days, hours, minutes } from '../../../../clock.ts'
import type { SeededRandom } from './seeded-random.ts'

/** A period of abnormal behaviour. */
export type Episode<Type extends string> = { type: Type; fromMs: number; toMs: number }

const seconds = (n: number) => n * 1000

/**
 * Normal events of healthy versions, with their relative frequency, minimum duration and maximum duration. During a `blip` the api does not
 * respond, an `unscraped` processor does not report its metrics, and during a `pause` it makes no progress.
 */
const normalEvents = {
  deploy: { weight: 2, durationMs: [minutes(1), minutes(6)] },
  reset: { weight: 1, durationMs: [minutes(1), minutes(6)] },
  restart: { weight: 2, durationMs: [seconds(30), seconds(90)] },
  crash: { weight: 6, durationMs: [seconds(20), seconds(60)] },
  blip: { weight: 8, durationMs: [seconds(5), seconds(50)] },
  unscraped: { weight: 8, durationMs: [seconds(15), seconds(60)] },
  pause: { weight: 8, durationMs: [seconds(20), seconds(170)] },
  hibernation: { weight: 1, durationMs: [hours(1), days(2)] },
} as const
type NormalEvent = keyof typeof normalEvents

/** The duration of each fault. Each opens one alert, which ends after the fault. */
export const faultDurationsMs = {
  crashLoop: minutes(40),
  outOfMemory: minutes(1),
  stall: minutes(30),
  slowness: minutes(40),
  wrongHead: minutes(40),
  frozenHead: minutes(40),
  apiDown: minutes(5),
  apiSlow: minutes(20),
  fullDatabase: hours(5),
  failedDeploy: hours(3),
} as const
export type Fault = keyof typeof faultDurationsMs

/** A period in which a version has a normal event or a fault. */
export type VersionEpisode = Episode<NormalEvent | Fault>

const normalEventTypes = Object.keys(normalEvents) as [NormalEvent, ...NormalEvent[]]
const weightedTypes = normalEventTypes.flatMap((kind) => Array<NormalEvent>(normalEvents[kind].weight).fill(kind)) as [
  NormalEvent,
  ...NormalEvent[],
]
/** Minimum distance of other events from a fault, so that the cause of its alert is certain. */
const quietMs = hours(2)

const isNear = (fault: Episode<Fault>, fromMs: number, toMs: number) =>
  fromMs < fault.toMs + quietMs && toMs > fault.fromMs - quietMs

/** Returns normal events every few hours, without overlap, and `fault` if given; sorted by time. */
export function episodesOf(random: SeededRandom, endMs: number, fault: Episode<Fault> | null): VersionEpisode[] {
  const episodes: VersionEpisode[] = fault ? [fault] : []
  for (let atMs = random.timeToNext(hours(3)); atMs < endMs;) {
    const type = random.pick(weightedTypes)
    const [minMs, maxMs] = normalEvents[type].durationMs
    const toMs = atMs + random.between(minMs, maxMs)
    if (!fault || !isNear(fault, atMs, toMs)) episodes.push({ type, fromMs: atMs, toMs })
    atMs = toMs + minutes(12) + random.timeToNext(hours(3))
  }
  return episodes.sort((a, b) => a.fromMs - b.fromMs)
}

/** Returns random periods without observations, about every `everyMs`, none of them near a fault in `avoid`. */
export function planGaps(
  random: SeededRandom,
  endMs: number,
  {
    everyMs,
    durationMs,
    avoid,
  }: { everyMs: number; durationMs: readonly [number, number]; avoid: readonly Episode<Fault>[] },
): Episode<'gap'>[] {
  const gaps: Episode<'gap'>[] = []
  for (let atMs = random.timeToNext(everyMs); atMs < endMs;) {
    const toMs = atMs + random.between(durationMs[0], durationMs[1])
    if (!avoid.some((fault) => isNear(fault, atMs, toMs))) gaps.push({ type: 'gap', fromMs: atMs, toMs })
    atMs = toMs + minutes(5) + random.timeToNext(everyMs)
  }
  return gaps
}

/** Returns a function that finds the episode at a time, or null between episodes. Times must not decrease between calls. */
export function createEpisodeLookup<E extends Episode<string>>(episodes: readonly E[]): (nowMs: number) => E | null {
  let index = 0
  return (nowMs) => {
    for (let next = episodes[index]; next && next.toMs <= nowMs; next = episodes[index]) index += 1
    const next = episodes[index]
    return next && next.fromMs <= nowMs ? next : null
  }
}
