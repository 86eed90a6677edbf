import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../../app.ts'
import { deliver, claimNext } from './deliver.ts'
import { listDueChannels } from './delivery-store.ts'
import { sendOptionsOf, type SendOptions } from './send.ts'

const everyMs = 1_000
/** Channels that are spoken to at once. One that is slow holds up only itself. */
const maxConcurrent = 32

export type DeliveryLoop = {
  /** Begins to send what is due, one message a channel, and does not wait for it. */
  begin: () => Promise<void>
  /** When one of what was begun has come to an end and there may be more of its kind; never if there is none. */
  oneSent: () => Promise<boolean>
  /** Answers of each whether there was anything to send after all. */
  allSettled: () => Promise<boolean[]>
}

/** Sends deliveries as they become due. Any number of workers may do so side by side. */
export function openDeliveryLoop(app: App, signal: AbortSignal, ways: SendOptions = sendOptionsOf(app)): DeliveryLoop {
  /** By channel; each answers whether anything was sent. */
  const underWay = new Map<number, Promise<boolean>>()

  async function deliverDue(channelId: number): Promise<boolean> {
    try {
      const taken = await claimNext(app, channelId)
      if (taken) await deliver(app, ways, taken, signal)
      return taken !== null
    } catch (error) {
      if (!signal.aborted) app.log.error({ err: error, channelId }, 'delivering an alert failed')
      return false
    } finally {
      underWay.delete(channelId)
    }
  }

  return {
    begin: async () => {
      const limit = maxConcurrent - underWay.size
      if (limit <= 0) return
      const due = await listDueChannels(app.db, app.clock.now(), { except: [...underWay.keys()], limit })
      for (const channelId of due) underWay.set(channelId, deliverDue(channelId))
    },
    oneSent: () => Promise.race([...underWay.values()].map((sending) => sending.then((isSent) => isSent || forever()))),
    allSettled: () => Promise.all(underWay.values()),
  }
}

const forever = () => new Promise<never>(() => {})

/** Tells until it is closed. */
export function startAlertDelivery(app: App): { close: () => Promise<void> } {
  const closing = new AbortController()
  const { signal } = closing
  const telling = openDeliveryLoop(app, signal)
  const done = (async () => {
    while (!signal.aborted) {
      await telling.begin().catch((error: unknown) => app.log.error({ err: error }, 'delivering alerts failed'))
      const awake = new AbortController()
      const sleeping = sleep(everyMs, undefined, { signal: AbortSignal.any([signal, awake.signal]) })
      await Promise.race([telling.oneSent(), sleeping.catch(() => undefined)])
      awake.abort()
    }
    await telling.allSettled()
  })()
  return {
    close: async () => {
      closing.abort()
      await done
    },
  }
}
