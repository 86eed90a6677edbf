import type { Workload } from '@shoal/runtime'
import { isApi, isInit, isProcessor, only, openWorkload, type SquidRow } from '../squids/index.ts'
import { allSteady, apisAnswer, initDone } from './readiness.ts'
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
  const { app, hands, journal } = context
  const old = squid.sealedWorkload ? openWorkload(app.sealer, squid.id, squid.sealedWorkload) : null
  await removeOthers(hands, squid.id, [next.id, ...(old ? [old.id] : [])])
  const phase = () => context.deployment.notes.rollout ?? 'init'

  if (phase() === 'init' && next.containers.some(isInit)) {
    journal.info('Running init')
    await app.runtime.apply(only(next, isInit))
    await initDone(context, next)
    journal.info('init is done')
  }
  if (phase() === 'init') await context.note({ rollout: old ? 'api' : 'processors' })

  if (phase() === 'api') {
    if (next.containers.some(isApi)) {
      journal.info('Starting the api beside the one that runs')
      await app.runtime.apply(only(next, isInit, isApi))
      await apisAnswer(context, next)
    }
    await context.note({ rollout: 'processors' })
  }

  if (old) await stopProcessors(context, old)
  journal.info(old ? 'Starting the processors' : 'Starting the programs')
  await app.runtime.apply(next)
  await allSteady(context, next, old ? context.pace.provenMs : context.pace.provenFirstMs)
  journal.info('All programs run')
}

/** None of the old processors runs afterwards; the old api goes on. */
async function stopProcessors({ app, hands, pace, signal }: StepContext, old: Workload): Promise<void> {
  const rest = only(old, isApi)
  if (rest.containers.length > 0) await app.runtime.apply(rest)
  else await app.runtime.remove(old.id)
  await until(
    async () => {
      const observations = (await hands.look()).of(old.id)
      return observations.some((o) => isProcessor({ name: o.container })) ? null : 'stopped'
    },
    pace.pollMs,
    signal,
  )
}
