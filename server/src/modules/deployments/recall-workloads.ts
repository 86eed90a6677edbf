import { mapConcurrently } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import { listDesired, openWorkload, selectSquid } from '../versions/index.ts'

const maxConcurrent = 8

/**
 * Reports the desired state of each version to the runtime: earlier workers applied it, and since then, the host's own state may have been
 * restored from a backup.
 */
export async function recallWorkloads({ db, sealer, runtime, log }: WorkerApp, signal: AbortSignal): Promise<void> {
  if (!runtime.recall) return
  await mapConcurrently(await listDesired(db), maxConcurrent, async ({ id, hasWorkload }) => {
    const squid = hasWorkload && !signal.aborted ? await selectSquid(db, id) : null
    if (!squid?.sealedWorkload) return
    try {
      runtime.recall?.(openWorkload(sealer, id, squid.sealedWorkload))
    } catch (error) {
      // A version whose key is missing must not prevent the others from being reconciled.
      log.warn({ err: error, squidId: id }, 'the workload of a version could not be read')
    }
  })
}
