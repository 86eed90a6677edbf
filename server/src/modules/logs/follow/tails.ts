import type { App } from '../../../app.ts'
import { notificationsOf } from '../../../db/notifications.ts'
import { inBackground } from '../../../db/query-timeouts.ts'
import { existingSquids } from '../../versions/index.ts'
import { logsChannel } from '../lines-store.ts'
import type { LogReader } from '../reader.ts'
import { createTail, type Tail } from './tail.ts'

/** The interval of the poll that detects deleted versions and lost notifications. */
const pollMs = 2_000

/** The tails of all versions that are followed in this process. */
export type Tails = {
  /** The tail of a version, shared by all followers; call `release` when done. */
  open: (squidId: number) => Promise<{ tail: Tail; release: () => void }>
}

type SharedTail = { tail: Promise<Tail>; followers: number }

/**
 * Creates the tails of this process. They use one listening connection and one read per change, regardless of the
 * number of followers.
 */
export function createTails(app: Pick<App, 'db' | 'logsDatabase' | 'log'>, reader: LogReader): Tails {
  const followed = new Map<number, SharedTail>()
  let stopListening: (() => void) | null = null

  const refresh = (squidId: number) => {
    const entry = followed.get(squidId)
    void entry?.tail
      .then((tail) => tail.refresh())
      .catch((error: unknown) => app.log.warn({ err: error }, 'failed to read new log lines'))
  }

  const poll = async () => {
    const ids = [...followed.keys()]
    const [existing, lastSeqsById] = await Promise.all([existingSquids(app.db, ids), reader.lastSeqs(ids)])
    for (const id of ids) {
      const tail = await followed.get(id)?.tail
      if (!existing.has(id)) tail?.end()
      else if ((lastSeqsById.get(id) ?? 0) > (tail?.lastSeq ?? 0)) refresh(id)
    }
  }

  const start = () => {
    const unsubscribe = notificationsOf(app.logsDatabase).listen(logsChannel, {
      onMessage: (payload) => payload.split(',').forEach((id) => refresh(Number(id))),
      onListening: () => [...followed.keys()].forEach(refresh),
    })
    const polling = setInterval(() => void poll().catch(() => undefined), pollMs)
    stopListening = () => {
      unsubscribe()
      clearInterval(polling)
    }
  }

  const release = (squidId: number, shared: SharedTail) => {
    shared.followers--
    if (shared.followers > 0) return
    if (followed.get(squidId) === shared) followed.delete(squidId)
    if (followed.size > 0) return
    stopListening?.()
    stopListening = null
  }

  return {
    open: async (squidId) => {
      // The polls of all tails are not part of the request that starts them.
      if (!stopListening) inBackground(start)
      const shared = followed.get(squidId) ?? {
        tail: reader
          .lastSeqs([squidId])
          .then((last) => createTail((query) => reader.after(squidId, query), last.get(squidId) ?? 0)),
        followers: 0,
      }
      followed.set(squidId, shared)
      shared.followers++
      try {
        return { tail: await shared.tail, release: () => release(squidId, shared) }
      } catch (error) {
        release(squidId, shared)
        throw error
      }
    },
  }
}
