import type { EventRow } from './event-store.ts'
import type { MuteRow } from './mute-store.ts'

type MuteTarget = Pick<EventRow, 'orgId' | 'kind' | 'squidId'>

/**
 * Whether a mute applies to the alert. A mute without a kind applies to all kinds; a mute without a version applies to all versions and to
 * alerts about the organization.
 */
export const isMuted = ({ orgId, kind, squidId }: MuteTarget, mutes: readonly MuteRow[]): boolean =>
  mutes.some(
    (mute) =>
      mute.orgId === orgId &&
      (mute.kind === null || mute.kind === kind) &&
      (mute.squidId === null || mute.squidId === squidId),
  )
