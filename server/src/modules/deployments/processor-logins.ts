import type { ContainerSpec, Observation, Workload } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { logins, type SquidConnection } from '../databases/index.ts'
import { parseWorkloadId } from '../manifest/index.ts'
import { isProcessor, isServer } from '../containers.ts'
import { addNotice, sealWorkload, updateSquid } from '../versions/index.ts'
import type { EngineContext } from './reconcile-version.ts'
import type { RuntimeSnapshot } from './runtime-snapshot.ts'
import type { StepContext } from './step.ts'

/** A host that has not responded for this time is considered lost: its processors are moved. */
const hostLostMs = 10_000

/**
 * Gives each processor its own login in the version's database. The login is closed before the processor starts on another host.
 * `composeWith` composes the workload with the connection of a login.
 */
export async function withOwnLogins(
  app: WorkerApp,
  tx: Db,
  squidId: number,
  workload: Workload,
  composeWith: (connection: SquidConnection) => Workload,
): Promise<Workload> {
  const containers: ContainerSpec[] = []
  for (const spec of workload.containers) {
    const user = { workload: workload.id, container: spec.name }
    const connection = isProcessor(spec) ? await logins.add(app, tx, squidId, user) : null
    const withLogin = connection && composeWith(connection).containers.find(({ name }) => name === spec.name)
    containers.push(withLogin ?? spec)
  }
  return { ...workload, containers }
}

/** Returns whether processors can have their own logins. If not, explains the consequences in the log of the deployment. */
export async function allowsLogins({ app, journal, deployment }: StepContext): Promise<boolean> {
  if (await logins.areAllowed(app, deployment.squidId)) return true
  journal.warn(
    'The Postgres of this installation does not allow a login for each processor. If a host stops responding, the processors on it wait until it responds again.',
  )
  return false
}

/** Opens the logins of a workload whose processors start next, and closes those of other generations, whose programs have ended. */
export async function openOnlyLogins(app: WorkerApp, squidId: number, workload: string | null): Promise<void> {
  if (app.runtime.ownsHost) return
  await logins.close(app, squidId, (user) => user.workload !== workload)
  if (workload !== null) await logins.open(app, squidId, workload)
}

/**
 * Closes the logins of a workload's processors that do not exist in the runtime. After the state of a cluster was restored, their programs
 * keep running for a while, and must not write at the same time as the programs that replace them.
 */
export async function closeMissingLogins(
  { app, snapshots }: EngineContext,
  squidId: number,
  id: string,
): Promise<void> {
  if (app.runtime.ownsHost) return
  const existing = new Set((await snapshots.of(id)).map(({ container }) => container))
  await logins.close(app, squidId, ({ workload, container }) => workload === id && !existing.has(container))
}

/** Creates new logins for processors whose login was closed, and stores them in the version's row. Returns the workload to apply. */
export async function renewLogins(app: WorkerApp, squidId: number, workload: Workload): Promise<Workload> {
  if (app.runtime.ownsHost) return workload
  const { isLogin, isOpen } = await logins.roleChecks(app, squidId)
  const closed = workload.containers.filter(({ env: { DB_USER = '' } }) => isLogin(DB_USER) && !isOpen(DB_USER))
  if (closed.length === 0) return workload
  return await app.db.transaction(async (tx) => {
    const containers: ContainerSpec[] = []
    for (const spec of workload.containers) {
      const user = { workload: workload.id, container: spec.name }
      const connection = closed.includes(spec) ? await logins.add(app, tx, squidId, user) : null
      const { DB_USER = '', DB_PASS = '' } = spec.env
      containers.push(
        connection
          ? replaceInEnvironment(spec, [
              [DB_PASS, connection.password],
              [DB_USER, connection.user],
            ])
          : spec,
      )
    }
    const renewed = { ...workload, containers }
    await updateSquid(tx, squidId, { sealedWorkload: sealWorkload(app.sealer, squidId, renewed) })
    return renewed
  })
}

/** Replaces texts, such as a password, everywhere in the environment, since the manifest may use them in other variables. */
export function replaceInEnvironment(spec: ContainerSpec, replacements: [text: string, by: string][]): ContainerSpec {
  const replace = (value: string) =>
    replacements.reduce((result, [text, by]) => (text === '' ? result : result.replaceAll(text, by)), value)
  const env = Object.fromEntries(Object.entries(spec.env).map(([name, value]) => [name, replace(value)]))
  return { ...spec, env }
}

const isHostLost = ({ hostLostSince }: Observation, now: Date): boolean =>
  hostLostSince !== null && now.getTime() - hostLostSince.getTime() >= hostLostMs

/** Returns the versions with processors on lost hosts that can be started elsewhere. */
export async function versionsOnLostHosts(app: WorkerApp, { onUnresponsiveHosts }: RuntimeSnapshot): Promise<number[]> {
  const now = app.clock.now()
  const ids: number[] = []
  for (const observation of onUnresponsiveHosts) {
    const { workload, container } = observation
    const id = parseWorkloadId(workload)
    if (!id || !isHostLost(observation, now) || !isProcessor({ name: container })) continue
    if (await logins.has(app, id.squidId, { workload, container })) ids.push(id.squidId)
  }
  return ids
}

/**
 * Closes the logins of a workload's processors on lost hosts, so that they can no longer write. Returns their names. Ignores processors
 * without their own login: they could still write, and wait for their host.
 */
export async function closeLostLogins(
  { app, snapshots }: EngineContext,
  squidId: number,
  id: string,
): Promise<string[]> {
  const now = app.clock.now()
  const closed: string[] = []
  for (const observation of await snapshots.of(id)) {
    const user = { workload: id, container: observation.container }
    const isLost = isHostLost(observation, now) && isProcessor({ name: user.container })
    if (!isLost || !(await logins.has(app, squidId, user))) continue
    const wasOpen = await logins.close(
      app,
      squidId,
      ({ workload, container }) => workload === id && container === user.container,
    )
    closed.push(user.container)
    if (wasOpen) await reportLostHost(app, squidId, observation)
  }
  return closed
}

/** Reports to the operator, and to users in the log of the version, that the login of a processor was closed. */
async function reportLostHost(app: WorkerApp, squidId: number, observation: Observation): Promise<void> {
  const { container, reason, hostLostSince } = observation
  app.log.warn({ squidId, container, reason }, 'closed the database login of a processor on a lost host')
  const since = hostLostSince ? ` since ${hostLostSince.toISOString().slice(11, 19)} UTC` : ''
  const message = `The host of this processor has not responded${since}. Its database login was closed, so it can no longer write and is started on another host.`
  await addNotice(app.db, { squidId, at: app.clock.now(), container, message }).catch((error: unknown) =>
    // The version may have been deleted in the meantime.
    app.log.debug({ err: error, squidId }, 'a notice was not stored'),
  )
}

/** Abandons the programs on lost hosts of a workload that is being stopped, except those that could still write. */
export async function abandonLost(engine: EngineContext, squidId: number, id: string): Promise<void> {
  const { app, snapshots } = engine
  const now = app.clock.now()
  const closed = await closeLostLogins(engine, squidId, id)
  for (const observation of await snapshots.of(id)) {
    const { container } = observation
    const isHarmless = isServer({ name: container }) || closed.includes(container)
    if (isHarmless && isHostLost(observation, now)) await app.runtime.abandon(id, container)
  }
}
