import type { Workload } from '@shoal/runtime'
import { isApi, isInit, isProcessor, pickContainers } from '../manifest/index.ts'
import { openWorkload, type SquidRow } from '../versions/index.ts'
import { waitForAll, waitForApis, waitForInit } from './readiness.ts'
import { removeOthers } from './reconcile-version.ts'
import type { StepContext } from './step.ts'
import { until } from './wait.ts'

/**
 * Starts a new generation beside the old one, up to the switch: `init`, then the api, then the processors, for which the old ones
 * stop (one writer at a time). The old api responds throughout. Can be interrupted at any point: it resumes at the phase in the
 * notes.
 * @throws DeployFailure; `reconcileVersion` then restores the old generation
 */
export async function rollOut(context: StepContext, squid: SquidRow, next: Workload): Promise<void> {
  const { app, engine, journal } = context
  const old = squid.sealedWorkload ? openWorkload(app.sealer, squid.id, squid.sealedWorkload) : null
  await removeOthers(engine, squid.id, [next.id, ...(old ? [old.id] : [])])
  const phase = () => context.deployment.notes.rollout ?? 'init'

  if (phase() === 'init' && next.containers.some(isInit)) {
    journal.info('Running init')
    await app.runtime.apply(pickContainers(next, isInit))
    await waitForInit(context, next)
    journal.info('init finished')
  }
  if (phase() === 'init') await context.note({ rollout: old ? 'api' : 'processors' })

  if (phase() === 'api') {
    if (next.containers.some(isApi)) {
      journal.info('Starting the new api beside the old one')
      await app.runtime.apply(pickContainers(next, isInit, isApi))
      await waitForApis(context, next)
    }
    await context.note({ rollout: 'processors' })
  }

  if (old) await stopProcessors(context, old)
  journal.info(old ? 'Starting the processors' : 'Starting the programs')
  await app.runtime.apply(next)
  await waitForAll(context, next, old ? context.intervals.healthyForMs : context.intervals.firstHealthyForMs)
  journal.info('All programs are running')
}

/** Stops the old processors and waits for their end; the old api keeps running. */
async function stopProcessors({ app, engine, intervals, signal }: StepContext, old: Workload): Promise<void> {
  const apis = pickContainers(old, isApi)
  if (apis.containers.length > 0) await app.runtime.apply(apis)
  else await app.runtime.remove(old.id)
  await until(
    async () => {
      const observations = (await engine.snapshots()).of(old.id)
      return observations.some((o) => isProcessor({ name: o.container })) ? null : 'stopped'
    },
    intervals.pollMs,
    signal,
  )
}
