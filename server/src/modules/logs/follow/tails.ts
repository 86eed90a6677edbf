import type { App } from '../../../app.ts'
import { notificationsOf } from '../../../db/notifications.ts'
import { existingSquids } from '../../versions/index.ts'
import { findStream, lastSeqs, logsChannel } from '../lines-store.ts'
import { createTail, type Tail } from './tail.ts'

/** To see that a version was deleted, and in case a notification got lost. */
const pollMs = 2_000

export type Tails = {
  /** The tail of a version, the same for all followers; `release` when it is not followed any more. */
  open: (squidId: number) => Promise<{ tail: Tail; release: () => void }>
}

type SharedTail = { tail: Promise<Tail>; followers: number }

/** All followed versions of this process: one connection that listens, one read for each change, however many follow. */
export function createTails(app: Pick<App, 'db' | 'database' | 'log'>): Tails {
  const followed = new Map<number, SharedTail>()
  let stopListening: (() => void) | null = null

  const refresh = (squidId: number) => {
    const found = followed.get(squidId)
    void found?.tail.then((tail) => tail.refresh()).catch((error: unknown) => app.log.warn({ err: error }, 'log tail'))
  }

  const look = async () => {
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
    const looking = setInterval(() => void look().catch(() => undefined), pollMs)
    stopListening = () => {
      stop()
      clearInterval(looking)
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
