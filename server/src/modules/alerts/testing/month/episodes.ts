import { days, hours, minutes } from '../../../../clock.ts'
import type { SeededRandom } from './chance.ts'

/** A time in which something is unlike always. */
export type Episode<Type extends string> = { type: Type; fromMs: number; toMs: number }

const seconds = (n: number) => n * 1000

/** What happens to versions that are well: how often, compared with each other, and for how long. */
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

/** Each provokes one alert, and what is well of it again ends it. */
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
/** Around a fault nothing else happens, so that it is known what brought the alert about. */
const quietMs = hours(2)

const isNear = (fault: Episode<Fault>, fromMs: number, toMs: number) =>
  fromMs < fault.toMs + quietMs && toMs > fault.fromMs - quietMs

/** Something every few hours, one after the other, and the fault if there is one. */
export function episodesOf(chance: SeededRandom, untilMs: number, fault: Episode<Fault> | null): VersionEpisode[] {
  const episodes: VersionEpisode[] = fault ? [fault] : []
  for (let atMs = chance.until(hours(3)); atMs < untilMs;) {
    const type = chance.of(weighted)
    const [shortest, longest] = noise[type].ms
    const toMs = atMs + chance.between(shortest, longest)
    if (!fault || !isNear(fault, atMs, toMs)) episodes.push({ type, fromMs: atMs, toMs })
    atMs = toMs + minutes(12) + chance.until(hours(3))
  }
  return episodes.sort((a, b) => a.fromMs - b.fromMs)
}

/** Times without observations, at random but not around these faults. */
export function awayTimes(
  chance: SeededRandom,
  untilMs: number,
  { everyMs, ms, not }: { everyMs: number; ms: readonly [number, number]; not: readonly Episode<Fault>[] },
): Episode<'away'>[] {
  const times: Episode<'away'>[] = []
  for (let atMs = chance.until(everyMs); atMs < untilMs;) {
    const toMs = atMs + chance.between(ms[0], ms[1])
    if (!not.some((fault) => isNear(fault, atMs, toMs))) times.push({ type: 'away', fromMs: atMs, toMs })
    atMs = toMs + minutes(5) + chance.until(everyMs)
  }
  return times
}

/** Which of them it is in, asked at times that only grow. */
export function follow<E extends Episode<string>>(episodes: readonly E[]): (nowMs: number) => E | null {
  let index = 0
  return (nowMs) => {
    for (let next = episodes[index]; next && next.toMs <= nowMs; next = episodes[index]) index += 1
    const next = episodes[index]
    return next && next.fromMs <= nowMs ? next : null
  }
}
