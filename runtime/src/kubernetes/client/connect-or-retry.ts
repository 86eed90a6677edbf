import { setTimeout as delay } from 'node:timers/promises'
import { ClusterUnreachable } from './kube-error.ts'

const RETRY_MS = 2000

/**
 * Calls `connect`. If the API server does not respond, logs that, and retries in the background until `connect` succeeds or
 * `signal` is aborted, so that Shoal can start while its cluster is unreachable.
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
    log(
      `${error.message}. Shoal retries. Until the API server of the cluster responds, squids cannot be reached, started or stopped.`,
    )
    void retry(connect, signal, log)
  }
}

async function retry(connect: () => Promise<void>, signal: AbortSignal, log: (message: string) => void): Promise<void> {
  let previousMessage = ''
  while (!signal.aborted) {
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      await connect()
      log('The cluster responds')
      return
    } catch (error) {
      const { message } = error as Error
      const isNew = message !== previousMessage
      if (!(error instanceof ClusterUnreachable) && isNew) log(`The cluster cannot be used: ${message}`)
      previousMessage = message
    }
  }
}
