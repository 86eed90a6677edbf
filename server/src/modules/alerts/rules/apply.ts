import type { App } from '../../../app.ts'
import type { Db } from '../../../db/database.ts'
import { enqueueTransition } from '../channels/enqueue.ts'
import { changeOpenEvent, openEvent, type EventRow } from '../event-store.ts'
import { isMuted } from '../mutes.ts'
import type { MuteRow } from '../mute-store.ts'
import type { Transition } from './evaluate.ts'

type AlertApp = Pick<App, 'db' | 'jobs'>

/** Stores the change of an alert and the messages about it in one transaction. */
export async function applyTransition(app: AlertApp, transition: Transition, mutes: readonly MuteRow[], now: Date) {
  await app.db.transaction(async (tx) => {
    if (transition.type === 'open') {
      const event = await openEvent(tx, eventRowOf(transition, mutes))
      if (event) await notifyChannels(app, tx, event, { what: 'OPENED', at: now, isQuiet: false })
    } else if (transition.type === 'end') {
      const event = await changeOpenEvent(tx, transition.id, { endedAt: now })
      if (event) await notifyChannels(app, tx, event, { what: 'ENDED', at: now, isQuiet: transition.isQuiet })
    } else {
      const event = await changeOpenEvent(tx, transition.id, transition.text)
      if (event) await notifyChannels(app, tx, event, { what: 'OPENED', at: now, isQuiet: false })
    }
  })
}

/** Notifies the channels of open alerts whose mute has ended. */
export async function notifyUnmuted(app: AlertApp, open: readonly EventRow[], mutes: readonly MuteRow[], now: Date) {
  for (const { id } of open.filter((event) => event.isMuted && !isMuted(event, mutes)))
    await app.db.transaction(async (tx) => {
      const event = await changeOpenEvent(tx, id, { isMuted: false })
      if (event) await notifyChannels(app, tx, event, { what: 'OPENED', at: now, isQuiet: false })
    })
}

function eventRowOf(transition: Extract<Transition, { type: 'open' }>, mutes: readonly MuteRow[]) {
  const { orgId, kind, version, container, startedAtMs, text } = transition
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

/** Queues messages about the alert, unless it is muted. */
async function notifyChannels(
  app: AlertApp,
  tx: Db,
  row: EventRow,
  notice: { what: 'OPENED' | 'ENDED'; at: Date; isQuiet: boolean },
): Promise<void> {
  if (row.isMuted) return
  await enqueueTransition(app, tx, { orgId: row.orgId, event: row, ...notice })
}
