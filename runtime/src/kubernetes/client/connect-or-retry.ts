import { setTimeout as delay } from 'node:timers/promises'
import { ClusterUnreachable } from './kube-error.ts'

const RETRY_MS = 2000

/**
 * Calls `connect`. If the API server does not answer, says so, and calls it again in the background until it does or `signal` is aborted,
 * so that a server can start while its cluster is away.
 * @throws any other error of the first call
 */
export async function connectOrRetry(
  connect: () => Promise<void>,
  signal: AbortSignal,
  log: (message: string) => void,
): Promise<void> {
  try {
    await connect()
  } catch (error) {
    if (!(error instanceof ClusterUnreachable)) throw error
    log(`${error.message}. Shoal tries again until it answers; until then, squids are not reached, started or stopped.`)
    void retry(connect, signal, log)
  }
}

async function retry(connect: () => Promise<void>, signal: AbortSignal, log: (message: string) => void): Promise<void> {
  let reported = ''
  while (!signal.aborted) {
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      await connect()
      log('The cluster answers')
      return
    } catch (error) {
      const { message } = error as Error
      if (!(error instanceof ClusterUnreachable) && message !== reported) log(`The cluster cannot be used: ${message}`)
      reported = message
    }
  }
}
