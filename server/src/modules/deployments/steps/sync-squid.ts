import type { Workload } from '@shoal/runtime'
import { minutes } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import { isUnavailable } from '../../../db/unavailable.ts'
import { databaseVariables, selectSquidDatabase } from '../../databases/index.ts'
import { readSecrets } from '../../secrets/index.ts'
import { beginGeneration, openWorkload, sealWorkload, switchSquid, type SquidRow } from '../../versions/index.ts'
import {
  billedProfile,
  composeWorkload,
  evaluateEnvironments,
  pickContainers,
  secretNamesOf,
} from '../../manifest/index.ts'
import { isProcessor, isServer } from '../../containers.ts'
import { apiPath } from '../../squids/index.ts'
import { keepImage } from '../images-store.ts'
import { contextsOf, readAddons } from '../addons.ts'
import { allowsLogins, withOwnLogins } from '../processor-logins.ts'
import { waitForGateways } from '../wait-for-gateways.ts'
import { checkEnvironments, checkHasura } from '../requirements.ts'
import { rollOut } from '../rollout.ts'
import { reconcileVersion } from '../reconcile-version.ts'
import { displayManifest, sourceOf, type Source } from '../source.ts'
import type { Step, StepContext } from '../step.ts'
import { addNotes } from '../claim-store.ts'
import { pauseOrThrow } from '../wait.ts'
import { requireImage } from './build.ts'

/** Starts a new generation while the old one is running, switches to it, and stops the old one. */
export const syncSquid: Step = {
  status: 'SQUID_SYNCING',
  activity: 'Starting the programs',
  deadlineMs: () => minutes(60),
  run: async (context) => {
    const squid = await context.squid()
    if (context.deployment.notes.rollout !== 'switched') await replaceGeneration(context, squid)
    await endOldGeneration(context, squid)
  },
}

/** Starts the next generation and switches to it. `inSwitch` runs in the transaction of the switch. */
export async function replaceGeneration(
  context: StepContext,
  squid: SquidRow,
  inSwitch: (tx: Db) => Promise<void> = async () => {},
): Promise<void> {
  const source = await sourceOf(context, squid)
  const next = await prepare(context, squid, source)
  await rollOut(context, squid, next)
  await switchTo(context, squid, source, { next, inSwitch })
}

/** Stops the old generation when every gateway routes to the new one. */
export async function endOldGeneration(context: StepContext, squid: SquidRow): Promise<void> {
  // Waits even if an earlier worker has switched, since that worker may have died before every gateway routed to the new generation.
  await waitForGateways(context, squid.id, context.deployment.notes.generation ?? squid.generation)
  if (squid.sealedWorkload) await pauseOrThrow(context.intervals.drainMs, context.signal)
  await stopOldPrograms(context, squid)
}

/** Stops the old programs. An error does not fail the deployment, because the new code runs and the reconcile loop retries. */
async function stopOldPrograms(
  { app, deployment, engine, journal, signal }: StepContext,
  squid: SquidRow,
): Promise<void> {
  try {
    await reconcileVersion(
      { ...engine, signal: AbortSignal.any([signal, AbortSignal.timeout(stopTimeoutMs)]) },
      squid.id,
    )
  } catch (error) {
    signal.throwIfAborted()
    if (isUnavailable(error)) throw error
    app.log.warn(
      { err: error, deploymentId: deployment.id },
      'failed to stop old programs; the reconcile loop will retry it',
    )
    journal.warn('The new code is running. Old programs could not be stopped yet; this continues in the background.')
  }
}

/** The time limit for stopping old programs, so that one that hangs does not fail the deployment. */
const stopTimeoutMs = minutes(2)

/** Returns the new generation's workload. It is composed once, so that changes of secrets do not restart it during the rollout. */
async function prepare(context: StepContext, squid: SquidRow, source: Source): Promise<Workload> {
  const { app, org, deployment } = context
  const { sealedWorkload } = deployment.notes
  if (sealedWorkload) return openWorkload(app.sealer, squid.id, sealedWorkload)
  checkHasura(source.plan, app.config)
  const { addons, variables } = await readAddons(app, squid, source.plan)
  const secretsReadAt = app.clock.now().toISOString()
  const secrets = await readSecrets(app, org.id)
  const environments = evaluateEnvironments(source.manifest, secrets, contextsOf(org.code, squid, addons))
  checkEnvironments(source.plan, environments)
  const database = await selectSquidDatabase(app.db, squid.id)
  const hasOwnLogins = !app.runtime.ownsHost && addons.postgres !== undefined && (await allowsLogins(context))
  return await app.db.transaction(async (tx) => {
    const generation = await beginGeneration(tx, squid.id)
    const image = requireImage(source.image)
    const compose = (parts: Pick<Parameters<typeof composeWorkload>[0], 'environments' | 'addonVariables'>) =>
      composeWorkload({
        squid,
        apiPath: apiPath(app.config, { orgCode: org.code, name: squid.name, slot: squid.slot }),
        generation,
        image,
        plan: source.plan,
        hasura: app.config.hasura,
        databaseConnections: database ? database.maxConnections + database.maxExternalConnections : 0,
        ...parts,
      })
    const composed = compose({ environments, addonVariables: variables })
    const workload = hasOwnLogins
      ? await withOwnLogins(app, tx, squid.id, composed, (postgres) =>
          compose({
            environments: evaluateEnvironments(
              source.manifest,
              secrets,
              contextsOf(org.code, squid, { ...addons, postgres }),
            ),
            addonVariables: { ...variables, ...databaseVariables(postgres) },
          }),
        )
      : composed
    const notes = {
      generation,
      // A move composes it again after an interruption, and the previous release, which does not support moves, must not start it.
      ...(deployment.notes.move ? {} : { sealedWorkload: sealWorkload(app.sealer, squid.id, workload) }),
      secretNames: secretNamesOf(source.manifest, secrets),
      secretsReadAt,
    }
    context.deployment = await addNotes(tx, deployment, notes, app.clock.now())
    return workload
  })
}

/** Switches in one transaction. After it, gateways route to the new generation, and the reconcile loop keeps it running. */
async function switchTo(
  context: StepContext,
  squid: SquidRow,
  source: Source,
  { next, inSwitch }: { next: Workload; inSwitch: (tx: Db) => Promise<void> },
): Promise<void> {
  const { app, deployment, journal } = context
  const { plan } = source
  const { generation, secretNames, secretsReadAt } = deployment.notes
  const now = app.clock.now()
  // The containers to start after a reboot of the host. They exclude init, which has finished.
  const permanentContainers = pickContainers(next, isServer, isProcessor)
  await app.db.transaction(async (tx) => {
    context.deployment = await addNotes(tx, deployment, { rollout: 'switched' }, now)
    await inSwitch(tx)
    await switchSquid(tx, squid.id, {
      ...(deployment.type === 'RESTART'
        ? {}
        : { ...codeColumns(source, squid, deployment.userId, now), sourceHosts: deployment.notes.sourceHosts ?? [] }),
      desiredState: 'running',
      hibernatedAt: null,
      generation: generation ?? squid.generation,
      sealedWorkload: sealWorkload(app.sealer, squid.id, permanentContainers),
      secretNames: secretNames ?? [],
      secretsReadAt: secretsReadAt ? new Date(secretsReadAt) : null,
      apiReplicas: plan.api?.replicas ?? 0,
      apiProfile: plan.api ? billedProfile(plan.api.profile, plan.isDedicated) : null,
      hasuraReplicas: plan.hasura?.replicas ?? 0,
      hasuraProfile: plan.hasura ? billedProfile(plan.hasura.profile, plan.isDedicated) : null,
      processorProfile: billedProfile(plan.processorProfile, plan.isDedicated),
      processors: plan.processors.map((p) => p.name),
      isDedicated: plan.isDedicated,
    })
    if (deployment.type !== 'RESTART')
      await keepImage(
        tx,
        {
          squidId: squid.id,
          deploymentId: deployment.id,
          image: next.image,
          manifestRaw: source.manifestRaw,
          manifestCurrent: displayManifest(source, squid.name),
          packageJson: source.packageJson,
          bytes: source.imageBytes,
          createdAt: now,
        },
        app.config.SHOAL_IMAGES_KEPT,
      )
  })
  journal.info(squid.sealedWorkload ? 'Switched to the new generation' : 'The version is running')
}

const codeColumns = (source: Source, squid: SquidRow, userId: number | null, now: Date) => ({
  image: source.image,
  manifestRaw: source.manifestRaw,
  manifestCurrent: displayManifest(source, squid.name),
  packageJson: source.packageJson,
  description: source.plan.description,
  deployedAt: now,
  deployedBy: userId,
})
