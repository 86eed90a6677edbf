import type { Db } from '../../../db/database.ts'
import { enqueueTransition } from '../channels/enqueue.ts'
import { changeOpenEvent, openEvent, type EventRow } from '../event-store.ts'
import { isMuted } from '../mutes.ts'
import type { MuteRow } from '../mute-store.ts'
import type { Transition } from './evaluate.ts'

/** Stores the change and the messages about it in one transaction. */
export async function applyTransition(db: Db, transition: Transition, mutes: readonly MuteRow[], now: Date) {
  await db.transaction(async (tx) => {
    if (transition.type === 'open') {
      const event = await openEvent(tx, rowOf(transition, mutes))
      if (event) await notifyChannels(tx, event, 'OPENED', now)
    } else if (transition.type === 'end') {
      const event = await changeOpenEvent(tx, transition.id, { endedAt: now })
      if (event) await notifyChannels(tx, event, 'ENDED', now, transition.isQuiet)
    } else {
      const event = await changeOpenEvent(tx, transition.id, transition.text)
      if (event) await notifyChannels(tx, event, 'OPENED', now)
    }
  })
}

/** Notifies the channels of open alerts whose mute has ended. */
export async function notifyUnmuted(db: Db, open: readonly EventRow[], mutes: readonly MuteRow[], now: Date) {
  for (const { id } of open.filter((event) => event.isMuted && !isMuted(event, mutes)))
    await db.transaction(async (tx) => {
      const event = await changeOpenEvent(tx, id, { isMuted: false })
      if (event) await notifyChannels(tx, event, 'OPENED', now)
    })
}

function rowOf(opened: Extract<Transition, { type: 'open' }>, mutes: readonly MuteRow[]) {
  const { orgId, kind, version, container, startedAtMs, text } = opened
  const squidId = version?.id ?? null
  return {
    orgId,
    kind,
    squidId,
    squidName: version?.name ?? null,
    squidSlot: version?.slot ?? null,
    container,
    startedAt: new Date(startedAtMs),
    isMuted: isMuted({ orgId, kind, squidId }, mutes),
    ...text,
  }
}

/** No channel is notified of a muted alert or of its end. */
async function notifyChannels(
  tx: Db,
  row: EventRow,
  what: 'OPENED' | 'ENDED',
  at: Date,
  isQuiet = false,
): Promise<void> {
  if (row.isMuted) return
  await enqueueTransition(tx, { orgId: row.orgId, event: row, what, at, isQuiet })
}
