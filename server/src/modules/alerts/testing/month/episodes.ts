import { days, hours, minutes } from '../../../../clock.ts'
import type { SeededRandom } from './chance.ts'

/** A period of abnormal behaviour. */
export type Episode<Type extends string> = { type: Type; fromMs: number; toMs: number }

const seconds = (n: number) => n * 1000

/** Normal events of healthy versions: relative frequency, and min and max duration. */
const noise = {
  deploy: { weight: 2, ms: [minutes(1), minutes(6)] },
  reset: { weight: 1, ms: [minutes(1), minutes(6)] },
  restart: { weight: 2, ms: [seconds(30), seconds(90)] },
  crash: { weight: 6, ms: [seconds(20), seconds(60)] },
  blip: { weight: 8, ms: [seconds(5), seconds(50)] },
  unscraped: { weight: 8, ms: [seconds(15), seconds(60)] },
  pause: { weight: 8, ms: [seconds(20), seconds(170)] },
  hibernation: { weight: 1, ms: [hours(1), days(2)] },
} as const
type Noise = keyof typeof noise

/** Durations of the faults. Each opens one alert, which ends after the fault. */
export const faults = {
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
export type Fault = keyof typeof faults

export type VersionEpisode = Episode<Noise | Fault>

const kinds = Object.keys(noise) as [Noise, ...Noise[]]
const weighted = kinds.flatMap((kind) => Array<Noise>(noise[kind].weight).fill(kind)) as [Noise, ...Noise[]]
/** Nothing else happens this close to a fault, so that the cause of its alert is certain. */
const quietMs = hours(2)

const isNear = (fault: Episode<Fault>, fromMs: number, toMs: number) =>
  fromMs < fault.toMs + quietMs && toMs > fault.fromMs - quietMs

/** Normal events every few hours, without overlap, and the fault if there is one. */
export function episodesOf(random: SeededRandom, endMs: number, fault: Episode<Fault> | null): VersionEpisode[] {
  const episodes: VersionEpisode[] = fault ? [fault] : []
  for (let atMs = random.until(hours(3)); atMs < endMs;) {
    const type = random.of(weighted)
    const [minMs, maxMs] = noise[type].ms
    const toMs = atMs + random.between(minMs, maxMs)
    if (!fault || !isNear(fault, atMs, toMs)) episodes.push({ type, fromMs: atMs, toMs })
    atMs = toMs + minutes(12) + random.until(hours(3))
  }
  return episodes.sort((a, b) => a.fromMs - b.fromMs)
}

/** Random periods without observations, none of them near these faults. */
export function awayTimes(
  random: SeededRandom,
  endMs: number,
  { everyMs, ms, notNear }: { everyMs: number; ms: readonly [number, number]; notNear: readonly Episode<Fault>[] },
): Episode<'away'>[] {
  const periods: Episode<'away'>[] = []
  for (let atMs = random.until(everyMs); atMs < endMs;) {
    const toMs = atMs + random.between(ms[0], ms[1])
    if (!notNear.some((fault) => isNear(fault, atMs, toMs))) periods.push({ type: 'away', fromMs: atMs, toMs })
    atMs = toMs + minutes(5) + random.until(everyMs)
  }
  return periods
}

/** Returns the episode at a time, null between episodes. Times must not decrease from call to call. */
export function follow<E extends Episode<string>>(episodes: readonly E[]): (nowMs: number) => E | null {
  let index = 0
  return (nowMs) => {
    for (let next = episodes[index]; next && next.toMs <= nowMs; next = episodes[index]) index += 1
    const next = episodes[index]
    return next && next.fromMs <= nowMs ? next : null
  }
}
