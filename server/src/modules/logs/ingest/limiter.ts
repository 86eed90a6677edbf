import type { LogAdmission } from '@shoal/runtime'
import { dayOf, type Clock } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import { squidOf } from './workload.ts'

export const limitKinds = ['bytesPerSecond', 'linesPerSecond', 'bytesPerDay', 'orgBytesPerDay'] as const
/** The limit that a version exceeded: its own, or the quota that all versions of its organization share. */
export type LimitKind = (typeof limitKinds)[number]

/** The limits of each version, and of each organization. Infinity: unlimited. */
export type LogLimits = Record<LimitKind, number>

/** The bytes that a version or an organization has stored on a UTC day, such as `2026-01-31`. */
export type DayUsage = { day: string; bytes: number }

/** The stored usage, so that quotas continue after a restart of the worker. */
export type StoredUsage = {
  versions: ReadonlyMap<number, DayUsage & { orgId: number | null }>
  /** Includes the usage of deleted versions. */
  orgs: ReadonlyMap<number, DayUsage>
}

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
  /** Returns today's usage of the organizations of these versions. */
  usageOfOrgs: (squidIds: number[]) => Map<number, DayUsage>
  /** Assigns a version to its organization: all of its usage of today then counts for that organization. */
  assignOrg: (squidId: number, orgId: number) => void
  /** Adds to today's usage the bytes that stored lines need in addition to those counted when they were admitted. */
  addUsage: (squidId: number, bytes: number) => void
  /** Removes the state of deleted versions. Their usage still counts for their organization. */
  evict: (squidIds: number[]) => void
}

export const limitsOf = (config: Config): LogLimits => ({
  bytesPerSecond: unlimitedIfZero(config.SHOAL_LOG_KB_PER_SECOND * 1_000),
  linesPerSecond: unlimitedIfZero(config.SHOAL_LOG_LINES_PER_SECOND),
  bytesPerDay: unlimitedIfZero(config.SHOAL_LOG_MB_PER_DAY * 1_000_000),
  orgBytesPerDay: unlimitedIfZero(config.SHOAL_LOG_ORG_MB_PER_DAY * 1_000_000),
})

const unlimitedIfZero = (limit: number) => (limit === 0 ? Infinity : limit)

type VersionState = { bytes: Bucket; lines: Bucket; usage: DayUsage; orgId: number | null; exceeded: LimitKind }

export function createLimiter(limits: LogLimits, clock: Clock, stored: StoredUsage): Limiter {
  const states = new Map<number, VersionState>()
  /** The usage of organizations on `today`. */
  const orgs = new Map(stored.orgs)
  let today = dayOf(clock.now().getTime())

  const createState = (squidId: number, nowMs: number): VersionState => {
    const { orgId = null, ...usage } = stored.versions.get(squidId) ?? { day: today, bytes: 0 }
    const state: VersionState = {
      bytes: createBucket(limits.bytesPerSecond, nowMs),
      lines: createBucket(limits.linesPerSecond, nowMs),
      usage,
      orgId,
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

  const addToOrg = (orgId: number | null, bytes: number) => {
    if (orgId !== null) orgs.set(orgId, { day: today, bytes: (orgs.get(orgId)?.bytes ?? 0) + bytes })
  }
  const add = (state: VersionState, bytes: number) => {
    state.usage.bytes += bytes
    addToOrg(state.orgId, bytes)
  }

  return {
    limits,
    admits: ({ workload, bytes, isBacklog }) => {
      const squidId = squidOf(workload)
      if (squidId === null) return true
      const nowMs = clock.now().getTime()
      const state = stateOf(squidId, nowMs)
      const orgBytes = state.orgId === null ? 0 : (orgs.get(state.orgId)?.bytes ?? 0)
      const exceeded = exceededLimit(state, orgBytes, limits, nowMs, isBacklog)
      if (exceeded !== null) {
        state.exceeded = exceeded
        return false
      }
      add(state, quotaBytes(1, bytes))
      if (!isBacklog) {
        state.bytes.take(bytes)
        state.lines.take(1)
      }
      return true
    },
    exceededBy: (squidId) => states.get(squidId)?.exceeded ?? 'bytesPerSecond',
    usageOf: (squidId) => stateOf(squidId, clock.now().getTime()).usage,
    usageOfOrgs: (squidIds) => {
      const nowMs = clock.now().getTime()
      const orgIds = squidIds.flatMap((squidId) => stateOf(squidId, nowMs).orgId ?? [])
      return new Map(orgIds.map((orgId) => [orgId, orgs.get(orgId) ?? { day: today, bytes: 0 }]))
    },
    assignOrg: (squidId, orgId) => {
      const state = stateOf(squidId, clock.now().getTime())
      if (state.orgId !== null) return
      state.orgId = orgId
      addToOrg(orgId, state.usage.bytes)
    },
    addUsage: (squidId, bytes) => add(stateOf(squidId, clock.now().getTime()), bytes),
    evict: (squidIds) => {
      for (const squidId of squidIds) states.delete(squidId)
    },
  }
}

/** The rate does not apply to a backlog: its lines may have been written long before they are read. */
function exceededLimit(
  state: VersionState,
  orgBytes: number,
  limits: LogLimits,
  nowMs: number,
  isBacklog: boolean,
): LimitKind | null {
  if (state.usage.bytes >= limits.bytesPerDay) return 'bytesPerDay'
  if (orgBytes >= limits.orgBytesPerDay) return 'orgBytesPerDay'
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
