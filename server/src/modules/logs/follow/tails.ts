import type { App } from '../../../app.ts'
import { notificationsOf } from '../../../db/notifications.ts'
import { existingSquids } from '../../versions/index.ts'
import { findStream, lastSeqs, logsChannel } from '../lines-store.ts'
import { createTail, type Tail } from './tail.ts'

/** Detects deleted versions and lost notifications. */
const pollMs = 2_000

export type Tails = {
  /** The tail of a version, shared by all followers; call `release` when done. */
  open: (squidId: number) => Promise<{ tail: Tail; release: () => void }>
}

type SharedTail = { tail: Promise<Tail>; followers: number }

/** All followed versions of this process: one listening connection and one read per change, regardless of the number of followers. */
export function createTails(app: Pick<App, 'db' | 'database' | 'log'>): Tails {
  const followed = new Map<number, SharedTail>()
  let stopListening: (() => void) | null = null

  const refresh = (squidId: number) => {
    const entry = followed.get(squidId)
    void entry?.tail.then((tail) => tail.refresh()).catch((error: unknown) => app.log.warn({ err: error }, 'log tail'))
  }

  const poll = async () => {
    const ids = [...followed.keys()]
    const [existing, lasts] = await Promise.all([existingSquids(app.db, ids), lastSeqs(app.db, ids)])
    for (const id of ids) {
      const tail = await followed.get(id)?.tail
      if (!existing.has(id)) tail?.end()
      else if ((lasts.get(id) ?? 0) > (tail?.lastSeq ?? 0)) refresh(id)
    }
  }

  const start = () => {
    const stop = notificationsOf(app.database).listen(logsChannel, {
      onMessage: (payload) => payload.split(',').forEach((id) => refresh(Number(id))),
      onListening: () => [...followed.keys()].forEach(refresh),
    })
    const polling = setInterval(() => void poll().catch(() => undefined), pollMs)
    stopListening = () => {
      stop()
      clearInterval(polling)
    }
  }

  const release = (squidId: number, of: SharedTail) => {
    of.followers--
    if (of.followers > 0) return
    if (followed.get(squidId) === of) followed.delete(squidId)
    if (followed.size > 0) return
    stopListening?.()
    stopListening = null
  }

  return {
    open: async (squidId) => {
      if (!stopListening) start()
      const of = followed.get(squidId) ?? {
        tail: findStream(app.db, squidId).then((stream) => createTail(app.db, squidId, stream?.lastSeq ?? 0)),
        followers: 0,
      }
      followed.set(squidId, of)
      of.followers++
      try {
        return { tail: await of.tail, release: () => release(squidId, of) }
      } catch (error) {
        release(squidId, of)
        throw error
      }
    },
  }
}
