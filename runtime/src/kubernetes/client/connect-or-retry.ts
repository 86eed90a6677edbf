import { setTimeout as delay } from 'node:timers/promises'
import type { HostLimitation } from '../../driver.ts'
import { ClusterUnreachable } from './kube-error.ts'

const RETRY_MS = 2000

/** Connects to the cluster. Returns what limits the use of the cluster. */
type Connect = () => Promise<HostLimitation[]>

/**
 * Calls `connect`. If the API server does not respond, logs that, and retries in the background until `connect` succeeds or
 * `signal` is aborted, so that Shoal can start while its cluster is unreachable. Returns what the first call of `connect` returns; logs what
 * a later call returns.
 * @throws any other error of the first call
 */
export async function connectOrRetry(
  connect: Connect,
  signal: AbortSignal,
  log: (message: string) => void,
): Promise<HostLimitation[]> {
  try {
    return await connect()
  } catch (error) {
    if (!(error instanceof ClusterUnreachable)) throw error
    log(
      `${error.message}. Shoal retries. Until the API server of the cluster responds, squids cannot be reached, started or stopped.`,
    )
    void retry(connect, signal, log)
    return []
  }
}

async function retry(connect: Connect, signal: AbortSignal, log: (message: string) => void): Promise<void> {
  let previousMessage = ''
  while (!signal.aborted) {
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      const limitations = await connect()
      log('The cluster responds')
      for (const limitation of limitations) log(limitation)
      return
    } catch (error) {
      const { message } = error as Error
      const isNew = message !== previousMessage
      if (!(error instanceof ClusterUnreachable) && isNew) log(`The cluster cannot be used: ${message}`)
      previousMessage = message
    }
  }
}
