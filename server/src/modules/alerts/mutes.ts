import type { EventRow } from './event-store.ts'
import type { MuteRow } from './mute-store.ts'

type Muted = Pick<EventRow, 'orgId' | 'kind' | 'squidId'>

/** A mute without a kind applies to all kinds; one without a version to all versions and to alerts about the organization. */
export const isMuted = ({ orgId, kind, squidId }: Muted, mutes: readonly MuteRow[]): boolean =>
  mutes.some(
    (mute) =>
      mute.orgId === orgId &&
      (mute.kind === null || mute.kind === kind) &&
      (mute.squidId === null || mute.squidId === squidId),
  )
