import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../../app.ts'
import { deliver, claimNext } from './deliver.ts'
import { listDueChannels } from './delivery-store.ts'
import { sendOptionsOf, type SendOptions } from './send.ts'

const everyMs = 1_000
/** Channels to which messages are sent concurrently, so that a slow one does not delay the others. */
const maxConcurrent = 32

export type DeliveryLoop = {
  /** Starts to send due messages, one per channel, without waiting for the result. */
  begin: () => Promise<void>
  /** Resolves when a message was sent, so that the next one of its channel may be due; never if none is being sent. */
  oneSent: () => Promise<boolean>
  /** Resolves when all have ended; true for each that had something to send. */
  allSettled: () => Promise<boolean[]>
}

/** Sends deliveries as they become due. Any number of workers may run this concurrently. */
export function openDeliveryLoop(
  app: App,
  signal: AbortSignal,
  options: SendOptions = sendOptionsOf(app),
): DeliveryLoop {
  /** Deliveries in progress by channel. Each resolves to whether there was something to send. */
  const inProgress = new Map<number, Promise<boolean>>()

  async function deliverDue(channelId: number): Promise<boolean> {
    try {
      const taken = await claimNext(app, channelId)
      if (taken) await deliver(app, options, taken, signal)
      return taken !== null
    } catch (error) {
      if (!signal.aborted) app.log.error({ err: error, channelId }, 'delivering an alert failed')
      return false
    } finally {
      inProgress.delete(channelId)
    }
  }

  return {
    begin: async () => {
      const limit = maxConcurrent - inProgress.size
      if (limit <= 0) return
      const due = await listDueChannels(app.db, app.clock.now(), { except: [...inProgress.keys()], limit })
      for (const channelId of due) inProgress.set(channelId, deliverDue(channelId))
    },
    oneSent: () =>
      Promise.race([...inProgress.values()].map((sending) => sending.then((isSent) => isSent || forever()))),
    allSettled: () => Promise.all(inProgress.values()),
  }
}

const forever = () => new Promise<never>(() => {})

/** Delivers alerts until it is closed. */
export function startAlertDelivery(app: App): { close: () => Promise<void> } {
  const closing = new AbortController()
  const { signal } = closing
  const loop = openDeliveryLoop(app, signal)
  const done = (async () => {
    while (!signal.aborted) {
      await loop.begin().catch((error: unknown) => app.log.error({ err: error }, 'delivering alerts failed'))
      const awake = new AbortController()
      const sleeping = sleep(everyMs, undefined, { signal: AbortSignal.any([signal, awake.signal]) })
      await Promise.race([loop.oneSent(), sleeping.catch(() => undefined)])
      awake.abort()
    }
    await loop.allSettled()
  })()
  return {
    close: async () => {
      closing.abort()
      await done
    },
  }
}
