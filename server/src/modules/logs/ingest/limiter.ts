import type { LogAdmission } from '@shoal/runtime'
import { dayOf, type Clock } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import { createRateLimit, type WriteRateLimit } from './rate-limit.ts'
import { squidIdOf } from './workload.ts'

/** The kinds of limits that release 0.1.0 supports and that the database stores under their own names; see `isOfOrg` of `log_drops`. */
export const limitKinds = ['bytesPerSecond', 'linesPerSecond', 'bytesPerDay', 'orgBytesPerDay'] as const
/** The limit that a version exceeded: its own, or one that all versions of its organization share. */
export type LimitKind = (typeof limitKinds)[number] | 'orgBytesPerSecond' | 'orgLinesPerSecond'

/** The limits of each version, and of each organization. Infinity: unlimited. */
export type LogLimits = Record<LimitKind, number>

/** The bytes that a version or an organization has stored on a UTC day, such as `2026-01-31`. */
export type DayVolume = { day: string; bytes: number }

/** The stored usage, so that quotas continue after a restart of the worker. */
export type StoredUsage = {
  versions: ReadonlyMap<number, DayVolume & { orgId: number | null }>
  /** Includes the usage of deleted versions. */
  orgs: ReadonlyMap<number, DayVolume>
}

/** The bytes that Postgres needs for a line in addition to its text: the other columns, the row's header and the index. */
const bytesPerLine = 120

/** Returns how many bytes of the daily quota the lines use. */
export const quotaBytes = (lines: number, textBytes: number): number => textBytes + lines * bytesPerLine

/** Decides which lines are stored, and counts them for the rates and daily quotas of versions and organizations. */
export type Limiter = {
  limits: LogLimits
  /** Decides whether the next line is stored, and counts it if so. */
  admits: LogAdmission
  /** Returns the limit that the version exceeded when its last line was dropped. */
  exceededBy: (squidId: number) => LimitKind
  /** Returns the version's usage of today. */
  usageOf: (squidId: number) => DayVolume
  /** Returns today's usage of the organizations of these versions. */
  usageOfOrgs: (squidIds: number[]) => Map<number, DayVolume>
  /** Assigns a version to its organization: all of its usage of today then counts for that organization. */
  assignOrg: (squidId: number, orgId: number) => void
  /** Adds to today's usage the bytes that stored lines need in addition to those counted when they were admitted. */
  addUsage: (squidId: number, bytes: number) => void
  /** Removes the state of deleted versions. Their usage still counts for their organization. */
  evict: (squidIds: number[]) => void
}

/** Returns the limits from the settings, in which 0 means unlimited. */
export const limitsOf = (config: Config): LogLimits => ({
  bytesPerSecond: unlimitedIfZero(config.SHOAL_LOG_KB_PER_SECOND * 1_000),
  linesPerSecond: unlimitedIfZero(config.SHOAL_LOG_LINES_PER_SECOND),
  bytesPerDay: unlimitedIfZero(config.SHOAL_LOG_MB_PER_DAY * 1_000_000),
  orgBytesPerSecond: unlimitedIfZero(config.SHOAL_LOG_ORG_KB_PER_SECOND * 1_000),
  orgLinesPerSecond: unlimitedIfZero(config.SHOAL_LOG_ORG_LINES_PER_SECOND),
  orgBytesPerDay: unlimitedIfZero(config.SHOAL_LOG_ORG_MB_PER_DAY * 1_000_000),
})

const unlimitedIfZero = (limit: number) => (limit === 0 ? Infinity : limit)

type State = { rate: WriteRateLimit; usage: DayVolume }
type VersionState = State & {
  orgId: number | null
  /** Lines that were admitted before the organization was known. */
  unassigned: { bytes: number; lines: number }
  exceeded: LimitKind
}

/** Creates a limiter that continues from the stored usage. */
export function createLimiter(limits: LogLimits, clock: Clock, stored: StoredUsage): Limiter {
  const states = new Map<number, VersionState>()
  /** The states of organizations on `today`. */
  const orgs = new Map<number, State>()
  let today = dayOf(clock.now().getTime())

  const createState = (squidId: number, nowMs: number): VersionState => {
    const { orgId = null, ...usage } = stored.versions.get(squidId) ?? { day: today, bytes: 0 }
    const state: VersionState = {
      rate: createRateLimit(limits.bytesPerSecond, limits.linesPerSecond, nowMs),
      usage,
      orgId,
      unassigned: { bytes: 0, lines: 0 },
      exceeded: 'bytesPerSecond',
    }
    states.set(squidId, state)
    return state
  }

  const stateOf = (squidId: number, nowMs: number): VersionState => {
    if (!isOnDay(today, nowMs)) {
      today = dayOf(nowMs)
      orgs.clear()
    }
    const state = states.get(squidId) ?? createState(squidId, nowMs)
    if (state.usage.day !== today) state.usage = { day: today, bytes: 0 }
    return state
  }

  const orgOf = ({ orgId }: VersionState, nowMs: number): State | null => {
    if (orgId === null) return null
    const storedUsage = stored.orgs.get(orgId)
    const org = orgs.get(orgId) ?? {
      rate: createRateLimit(limits.orgBytesPerSecond, limits.orgLinesPerSecond, nowMs),
      usage: storedUsage?.day === today ? { ...storedUsage } : { day: today, bytes: 0 },
    }
    orgs.set(orgId, org)
    return org
  }

  const add = (state: VersionState, org: State | null, bytes: number) => {
    state.usage.bytes += bytes
    if (org) org.usage.bytes += bytes
  }

  return {
    limits,
    admits: ({ workload, bytes, isBacklog }) => {
      const squidId = squidIdOf(workload)
      if (squidId === null) return true
      const nowMs = clock.now().getTime()
      const state = stateOf(squidId, nowMs)
      const org = orgOf(state, nowMs)
      const exceeded = exceededLimit(state, org, limits, nowMs, isBacklog)
      if (exceeded !== null) {
        state.exceeded = exceeded
        return false
      }
      add(state, org, quotaBytes(1, bytes))
      if (isBacklog) return true
      state.rate.take(bytes, 1)
      if (org) org.rate.take(bytes, 1)
      else {
        state.unassigned.bytes += bytes
        state.unassigned.lines += 1
      }
      return true
    },
    exceededBy: (squidId) => states.get(squidId)?.exceeded ?? 'bytesPerSecond',
    usageOf: (squidId) => stateOf(squidId, clock.now().getTime()).usage,
    usageOfOrgs: (squidIds) => {
      const nowMs = clock.now().getTime()
      const usage = new Map<number, DayVolume>()
      for (const squidId of squidIds) {
        const state = stateOf(squidId, nowMs)
        const org = orgOf(state, nowMs)
        if (org && state.orgId !== null) usage.set(state.orgId, org.usage)
      }
      return usage
    },
    assignOrg: (squidId, orgId) => {
      const nowMs = clock.now().getTime()
      const state = stateOf(squidId, nowMs)
      if (state.orgId !== null) return
      state.orgId = orgId
      const org = orgOf(state, nowMs)
      if (!org) return
      org.usage.bytes += state.usage.bytes
      org.rate.take(state.unassigned.bytes, state.unassigned.lines)
    },
    addUsage: (squidId, bytes) => {
      const nowMs = clock.now().getTime()
      const state = stateOf(squidId, nowMs)
      add(state, orgOf(state, nowMs), bytes)
    },
    evict: (squidIds) => {
      for (const squidId of squidIds) states.delete(squidId)
    },
  }
}

/**
 * Returns the limit that the next line exceeds; null if none. Rates do not apply to a backlog: its lines may have been written
 * long before they are read.
 */
function exceededLimit(
  state: State,
  org: State | null,
  limits: LogLimits,
  nowMs: number,
  isBacklog: boolean,
): LimitKind | null {
  if (state.usage.bytes >= limits.bytesPerDay) return 'bytesPerDay'
  if (org && org.usage.bytes >= limits.orgBytesPerDay) return 'orgBytesPerDay'
  if (isBacklog) return null
  if (state.rate.bytes.isEmpty(nowMs)) return 'bytesPerSecond'
  if (state.rate.lines.isEmpty(nowMs)) return 'linesPerSecond'
  if (org?.rate.bytes.isEmpty(nowMs)) return 'orgBytesPerSecond'
  return org?.rate.lines.isEmpty(nowMs) ? 'orgLinesPerSecond' : null
}

const isOnDay = (day: string, ms: number): boolean => {
  const startMs = Date.parse(day)
  return ms >= startMs && ms < startMs + 86_400_000
}
