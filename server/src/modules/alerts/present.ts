import type { AlertEvent, AlertMute, AlertSquid } from '@shoal/contract'
import type { EventRow } from './event-store.ts'
import type { MuteRow } from './mute-store.ts'

/** Returns the API representation of an alert. `existing`: the ids of the versions that still exist. */
export const presentEvent = (row: EventRow, existing: ReadonlySet<number>): AlertEvent => ({
  id: row.id,
  severity: row.severity,
  ...presentSubject(row, existing),
  label: row.label,
  reason: row.reason,
  startedAt: row.startedAt.toISOString(),
  endedAt: row.endedAt?.toISOString() ?? null,
  isMuted: row.isMuted,
})

/** Returns the kind of an alert, and the version and container that it is about. */
export function presentSubject(row: EventRow, existing: ReadonlySet<number>) {
  const squid = squidOf(row)
  return {
    kind: row.kind,
    squid: squid && { ...squid, isDeleted: !existing.has(squid.id) },
    container: row.container,
  }
}

/** Returns the API representation of a mute. */
export const presentMute = (row: MuteRow): AlertMute => ({
  id: row.id,
  kind: row.kind,
  squid: squidOf(row),
  until: row.until.toISOString(),
  createdBy: row.createdBy,
})

/** Returns the version of an alert or a mute; null if it is about the organization or all versions. */
export function squidOf({ squidId, squidName, squidSlot }: EventRow | MuteRow): AlertSquid | null {
  return squidId === null ? null : { id: squidId, name: squidName ?? '', slot: squidSlot ?? '' }
}
