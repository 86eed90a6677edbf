import type { EventRow } from './event-store.ts'
import type { MuteRow } from './mute-store.ts'

type Muted = Pick<EventRow, 'orgId' | 'kind' | 'squidId'>

/** A mute without a kind is of every kind, one without a version of every version and of what concerns the organization. */
export const isMuted = ({ orgId, kind, squidId }: Muted, mutes: readonly MuteRow[]): boolean =>
  mutes.some(
    (mute) =>
      mute.orgId === orgId &&
      (mute.kind === null || mute.kind === kind) &&
      (mute.squidId === null || mute.squidId === squidId),
  )
