import type { Workload } from '@shoal/runtime'
import { pickContainers } from '../manifest/index.ts'
import { isApi, isInit, isProcessor, isServer } from '../containers.ts'
import { openWorkload, type SquidRow } from '../versions/index.ts'
import { abandonLost, openOnlyLogins } from './processor-logins.ts'
import { waitForAll, waitForInit, waitForServers } from './readiness.ts'
import { removeOtherWorkloads } from './reconcile-version.ts'
import type { StepContext } from './step.ts'
import { pollUntil } from './wait.ts'

/**
 * Starts a new generation while the old one is running, up to the switch: `init`, then the api and Hasura, then the processors. The old
 * processors are stopped first, because only one may write at a time. The old api responds throughout. The rollout can be interrupted
 * at any point, and resumes at the phase recorded in the notes.
 * @throws DeployFailure; `reconcileVersion` then restores the old generation
 */
export async function rollOut(context: StepContext, squid: SquidRow, next: Workload): Promise<void> {
  const { app, engine, journal } = context
  const old = squid.sealedWorkload ? openWorkload(app.sealer, squid.id, squid.sealedWorkload) : null
  await removeOtherWorkloads(engine, squid.id, [next.id, ...(old ? [old.id] : [])])
  const phase = () => context.deployment.notes.rollout ?? 'init'

  if (phase() === 'init' && next.containers.some(isInit)) {
    journal.info('Running init')
    await app.runtime.apply(pickContainers(next, isInit))
    await waitForInit(context, next)
    journal.info('init finished')
  }
  if (phase() === 'init') await context.saveNotes({ rollout: old ? 'api' : 'processors' })

  if (phase() === 'api') {
    if (next.containers.some(isServer)) {
      journal.info(`Starting the new ${next.containers.some(isApi) ? 'api' : 'Hasura'} while the old one is running`)
      await app.runtime.apply(pickContainers(next, isInit, isServer))
      await waitForServers(context, next)
    }
    await context.saveNotes({ rollout: 'processors' })
  }

  if (old) await stopProcessors(context, old)
  await openOnlyLogins(app, squid.id, next.id)
  journal.info(old ? 'Starting the processors' : 'Starting the programs')
  await app.runtime.apply(next)
  await waitForAll(context, next, old ? context.intervals.healthyForMs : context.intervals.firstHealthyForMs)
  journal.info('All programs are running')
}

/** Stops the old processors and waits until they have ended. The old api and Hasura keep running. */
export async function stopProcessors(
  { app, deployment, engine, intervals, signal }: StepContext,
  old: Workload,
): Promise<void> {
  const servers = pickContainers(old, isServer)
  if (servers.containers.length > 0) await app.runtime.apply(servers)
  else await app.runtime.remove(old.id)
  await pollUntil(
    async () => {
      await abandonLost(engine, deployment.squidId, old.id)
      const observations = await engine.snapshots.of(old.id)
      return observations.some((o) => isProcessor({ name: o.container })) ? null : 'stopped'
    },
    intervals.pollMs,
    signal,
  )
}
