import type { WorkerApp } from '../../app.ts'
import { inBatches } from '../../db/batches.ts'
import { forEachInSlices } from '../../collections/slices.ts'
import { listDesired, openWorkload } from '../versions/index.ts'
import { selectSealedWorkloads } from './store.ts'

/** Workloads are a few kilobytes each. */
const batchSize = 200

/**
 * Reports the desired state of each version to the runtime: earlier workers applied it, and since then, the host's own state may have been
 * restored from a backup.
 */
export async function recallWorkloads({ db, sealer, runtime, log }: WorkerApp, signal: AbortSignal): Promise<void> {
  if (!runtime.recall) return
  const ids = (await listDesired(db)).flatMap(({ id, hasWorkload }) => (hasWorkload ? [id] : []))
  for (const batch of inBatches(ids, batchSize)) {
    if (signal.aborted) return
    await forEachInSlices(await selectSealedWorkloads(db, batch), ({ squidId, sealedWorkload }) => {
      try {
        runtime.recall?.(openWorkload(sealer, squidId, sealedWorkload))
      } catch (error) {
        // A version whose key is missing must not prevent the others from being reconciled.
        log.warn({ err: error, squidId }, 'the workload of a version could not be read')
      }
    })
  }
}
