import type { LogAdmission } from '@shoal/runtime'
import { dayOf, type Clock } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import { squidOf } from './workload.ts'

/** The limits of each version. Infinity: unlimited. */
export type LogLimits = { bytesPerSecond: number; linesPerSecond: number; bytesPerDay: number }

export const limitKinds = ['bytesPerSecond', 'linesPerSecond', 'bytesPerDay'] as const
/** The limit that a version exceeded. */
export type LimitKind = (typeof limitKinds)[number]

/** The bytes that a version has stored on a UTC day, such as `2026-01-31`. */
export type DayUsage = { day: string; bytes: number }

/** A version that was quiet may write a burst of as many lines as its rate allows in this time. */
const burstSeconds = 10

/** The bytes that Postgres needs for a line in addition to its text: the other columns, the row's header and the index. */
const bytesPerLine = 120

/** Returns how many bytes of the daily quota the lines use. */
export const quotaBytes = (lines: number, textBytes: number): number => textBytes + lines * bytesPerLine

export type Limiter = {
  limits: LogLimits
  /** Decides whether the next line is stored, and counts it if so. */
  admits: LogAdmission
  /** Returns the limit that the version exceeded when its last line was dropped. */
  exceededBy: (squidId: number) => LimitKind
  usageOf: (squidId: number) => DayUsage
  /** Adds to today's usage the bytes that stored lines need in addition to those counted when they were admitted. */
  addUsage: (squidId: number, bytes: number) => void
}

export const limitsOf = (config: Config): LogLimits => ({
  bytesPerSecond: unlimitedIfZero(config.SHOAL_LOG_KB_PER_SECOND * 1_000),
  linesPerSecond: unlimitedIfZero(config.SHOAL_LOG_LINES_PER_SECOND),
  bytesPerDay: unlimitedIfZero(config.SHOAL_LOG_MB_PER_DAY * 1_000_000),
})

const unlimitedIfZero = (limit: number) => (limit === 0 ? Infinity : limit)

type VersionState = { bytes: Bucket; lines: Bucket; usage: DayUsage; exceeded: LimitKind }

/** `usage`: the stored usage of versions, so that the daily quota continues after a restart of the worker. */
export function createLimiter(limits: LogLimits, clock: Clock, usage: ReadonlyMap<number, DayUsage>): Limiter {
  const states = new Map<number, VersionState>()

  const stateOf = (squidId: number, nowMs: number): VersionState => {
    const state = states.get(squidId) ?? {
      bytes: createBucket(limits.bytesPerSecond, nowMs),
      lines: createBucket(limits.linesPerSecond, nowMs),
      usage: usage.get(squidId) ?? { day: dayOf(nowMs), bytes: 0 },
      exceeded: 'bytesPerSecond',
    }
    states.set(squidId, state)
    if (!isOnDay(state.usage.day, nowMs)) state.usage = { day: dayOf(nowMs), bytes: 0 }
    return state
  }

  return {
    limits,
    admits: ({ workload, bytes, isBacklog }) => {
      const squidId = squidOf(workload)
      if (squidId === null) return true
      const nowMs = clock.now().getTime()
      const state = stateOf(squidId, nowMs)
      const exceeded = exceededLimit(state, limits, nowMs, isBacklog)
      if (exceeded !== null) {
        state.exceeded = exceeded
        return false
      }
      state.usage.bytes += quotaBytes(1, bytes)
      if (!isBacklog) {
        state.bytes.take(bytes)
        state.lines.take(1)
      }
      return true
    },
    exceededBy: (squidId) => states.get(squidId)?.exceeded ?? 'bytesPerSecond',
    usageOf: (squidId) => stateOf(squidId, clock.now().getTime()).usage,
    addUsage: (squidId, bytes) => {
      stateOf(squidId, clock.now().getTime()).usage.bytes += bytes
    },
  }
}

/** The rate does not apply to a backlog: its lines may have been written long before they are read. */
function exceededLimit(state: VersionState, limits: LogLimits, nowMs: number, isBacklog: boolean): LimitKind | null {
  if (state.usage.bytes >= limits.bytesPerDay) return 'bytesPerDay'
  if (isBacklog) return null
  if (state.bytes.isEmpty(nowMs)) return 'bytesPerSecond'
  return state.lines.isEmpty(nowMs) ? 'linesPerSecond' : null
}

const isOnDay = (day: string, ms: number): boolean => {
  const startMs = Date.parse(day)
  return ms >= startMs && ms < startMs + 86_400_000
}

type Bucket = { isEmpty: (nowMs: number) => boolean; take: (amount: number) => void }

/** A token bucket. `take` may overdraw it, so that a line that is larger than the burst is not dropped forever. */
function createBucket(perSecond: number, createdMs: number): Bucket {
  if (perSecond === Infinity) return { isEmpty: () => false, take: () => undefined }
  const capacity = perSecond * burstSeconds
  let available = capacity
  let refilledMs = createdMs
  return {
    isEmpty: (nowMs) => {
      available = Math.min(capacity, available + (Math.max(0, nowMs - refilledMs) / 1_000) * perSecond)
      refilledMs = nowMs
      return available <= 0
    },
    take: (amount) => (available -= amount),
  }
}
