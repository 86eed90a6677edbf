import type { AlertEvent, AlertMute } from '@shoal/contract'
import type { EventRow } from './event-store.ts'
import type { MuteRow } from './mute-store.ts'

export const presentEvent = (row: EventRow): AlertEvent => ({
  id: row.id,
  kind: row.kind,
  severity: row.severity,
  squid: squidOf(row),
  container: row.container,
  label: row.label,
  reason: row.reason,
  startedAt: row.startedAt.toISOString(),
  endedAt: row.endedAt?.toISOString() ?? null,
  isMuted: row.isMuted,
})

export const presentMute = (row: MuteRow): AlertMute => ({
  id: row.id,
  kind: row.kind,
  squid: squidOf(row),
  until: row.until.toISOString(),
  createdBy: row.createdBy,
})

function squidOf({ squidId, squidName, squidSlot }: EventRow | MuteRow): AlertEvent['squid'] {
  return squidId === null ? null : { id: squidId, name: squidName ?? '', slot: squidSlot ?? '' }
}
