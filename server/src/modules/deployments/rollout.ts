import type { Workload } from '@shoal/runtime'
import { isApi, isInit, isProcessor, pickContainers } from '../manifest/index.ts'
import { openWorkload, type SquidRow } from '../versions/index.ts'
import { waitForAll, waitForApis, waitForInit } from './readiness.ts'
import { removeOthers } from './settle.ts'
import type { StepContext } from './step.ts'
import { until } from './wait.ts'

/**
 * Makes a new generation run beside the old one, until only the switch is missing: `init`, then the api, then the processors,
 * for which the old ones stop (one writer at a time). The old api answers all the while. May be cut off anywhere: it goes on
 * where its notes say.
 * @throws DeployFailure; `settle` then brings everything back
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
    journal.info('init is done')
  }
  if (phase() === 'init') await context.note({ rollout: old ? 'api' : 'processors' })

  if (phase() === 'api') {
    if (next.containers.some(isApi)) {
      journal.info('Starting the api beside the one that runs')
      await app.runtime.apply(pickContainers(next, isInit, isApi))
      await waitForApis(context, next)
    }
    await context.note({ rollout: 'processors' })
  }

  if (old) await stopProcessors(context, old)
  journal.info(old ? 'Starting the processors' : 'Starting the programs')
  await app.runtime.apply(next)
  await waitForAll(context, next, old ? context.intervals.healthyForMs : context.intervals.firstHealthyForMs)
  journal.info('All programs run')
}

/** None of the old processors runs afterwards; the old api goes on. */
async function stopProcessors({ app, engine, intervals, signal }: StepContext, old: Workload): Promise<void> {
  const rest = pickContainers(old, isApi)
  if (rest.containers.length > 0) await app.runtime.apply(rest)
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
