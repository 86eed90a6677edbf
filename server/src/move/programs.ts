import { mapConcurrently, type Runtime } from '@shoal/runtime'
import { setTimeout as delay } from 'node:timers/promises'
import { minutes } from '../clock.ts'
import { openKeyRing } from '../sealing/key-ring.ts'
import { createSealer } from '../sealing/sealer.ts'
import { networkTargets } from '../startup/network-targets.ts'
import { createSquidBackend } from '../startup/squid-backend.ts'
import type { Side } from './side.ts'

const timeoutMs = minutes(5)
const pollMs = 500
const maxConcurrent = 16

/**
 * Stops all programs of squids, and removes what the runtime stores about them. If the move fails later, the worker of the source starts them
 * again, because their desired state is unchanged.
 * @throws Error if programs do not end, such as on a node that does not respond
 */
export async function stopPrograms(side: Side, installation: string, signal: AbortSignal): Promise<void> {
  const { config, stateDir, log, hosts } = side
  const targets = networkTargets(
    config,
    hosts.map(({ cluster }) => cluster.url),
  )
  const sealer = createSealer({ ring: openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir }) })
  const runtime = await createSquidBackend(config, { stateDir, targets, sealer, log, installation }).openRuntime()
  try {
    await runtime.start()
    await removeAll(runtime, signal)
  } finally {
    await runtime.close('keep')
  }
}

/** Removes all workloads, several at a time, and waits until they have ended. */
export async function removeAll(runtime: Pick<Runtime, 'observe' | 'remove'>, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const workloads = [...new Set((await runtime.observe()).map(({ workload }) => workload))]
    if (workloads.length === 0) return
    if (performance.now() > deadline) throw new Error(`These programs of squids do not end: ${workloads.join(', ')}`)
    await mapConcurrently(workloads, maxConcurrent, async (workload) => {
      signal.throwIfAborted()
      await runtime.remove(workload)
    })
    signal.throwIfAborted()
    await delay(pollMs)
  }
}
