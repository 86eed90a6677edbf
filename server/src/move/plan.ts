import { existsSync } from 'node:fs'
import { bucketCheck, clusterCheck, registryCheck } from '../doctor/check-services.ts'
import { systemClock } from '../clock.ts'
import { claimOfOtherHost } from '../installation/host-claim.ts'
import { servers } from '../modules/databases/index.ts'
import { installationMoves } from '../modules/deployments/index.ts'
import { keysFile, keysLocation, openKeyRing } from '../sealing/key-ring.ts'
import { createSealer } from '../sealing/sealer.ts'
import { shoalCommand } from '../installation/version.ts'
import { planImages, type ImagePlan } from './images.ts'
import { readRights, readSize } from './move-state-store.ts'
import { hostsOfBothSides, targetName, type Side } from './side.ts'

type DatabaseRow = Awaited<ReturnType<typeof servers.copies.list>>[number]

/** The database of a version. `to`: the name of its server in the target; `isCopied`: false if that is the server where it is. */
export type PlannedDatabase = { row: DatabaseRow; to: string; isCopied: boolean; bytes: number }

/** What a move will do. `refusals`: the reasons why it cannot begin, each with what to do. */
export type MovePlan = {
  controlPlaneBytes: number
  databases: PlannedDatabase[]
  images: ImagePlan
  runningVersions: number
  refusals: string[]
}

/** The fields of an app that functions of modules need, for both sides. */
export const appOf = (source: Side, target: Side) => ({
  db: source.database.db,
  database: source.database,
  databaseHosts: hostsOfBothSides(source, target),
  sealer: createSealer({
    ring: openKeyRing({ keys: source.config.SHOAL_SECRETS_KEY, dataDir: source.config.dataDir }),
  }),
})
export type MovingApp = ReturnType<typeof appOf>

/** Plans the move, and checks everything that would make it fail. Changes nothing, and stops no program. */
export async function makePlan(source: Side, target: Side, allowsMissingImages: boolean): Promise<MovePlan> {
  const app = appOf(source, target)
  const refusals: string[] = [...checkKeys(source, target), ...(await checkServices(target))]
  if (source.config.SHOAL_LOGS_DATABASE_URL !== target.config.SHOAL_LOGS_DATABASE_URL)
    refusals.push(
      `SHOAL_LOGS_DATABASE_URL must be the same in both settings. Move the logs before or after the installation (docs/logs.md).`,
    )
  const claim =
    source.config.SHOAL_RUNTIME === 'process' ? await claimOfOtherHost({ ...app, config: source.config }) : null
  if (claim) refusals.push(`The squids run at ${claim.location}. Run this command there.`)
  const inProgress = await installationMoves.listInProgress(app.db)
  if (inProgress.length > 0)
    refusals.push(
      `These deployments have not ended: ${listNames(inProgress)}. Start the server with its current settings, wait until they have ended, and stop it.`,
    )
  const running = await installationMoves.listRunning(app.db)
  if (running.some(({ usesHasura }) => usesHasura) && !target.config.hasura)
    refusals.push('Versions use the addon hasura, which the target does not offer: set SHOAL_HASURA_IMAGE there.')
  const databases = await planDatabases(source, target, app, refusals)
  const images = await planImages(source, target, await installationMoves.listUsedImages(app.db))
  if (images.missing.length > 0 && !allowsMissingImages)
    refusals.push(
      `${images.reason} These versions would not start: ${listNames([...new Set(images.missing.flatMap(({ versions }) => versions))])}. Deploy them again before the move, or add --force to move them without their images; they then start after their next deployment.`,
    )
  const { pathname } = new URL(source.database.url)
  return {
    controlPlaneBytes: await readSize(source.database.pool, decodeURIComponent(pathname.slice(1))),
    databases,
    images,
    runningVersions: running.length,
    refusals,
  }
}

async function planDatabases(
  source: Side,
  target: Side,
  app: MovingApp,
  refusals: string[],
): Promise<PlannedDatabase[]> {
  const planned: PlannedDatabase[] = []
  const copiedTo = new Set<string>()
  // The control plane of the target decides how many connections its servers have for squids.
  const targetApp = { ...app, database: target.database }
  const sameServers = await findSameServers(source, target)
  for (const row of await servers.copies.list(app.db)) {
    const to = serverFor(target, row)
    if (!source.hosts.some(({ name }) => name === row.server)) {
      refusals.push(`${row.database} is on the server "${row.server}", which SHOAL_SQUIDS_DATABASE_URL does not list.`)
      continue
    }
    const { cluster } = app.databaseHosts.get(row.server)
    const same = sameServers.get(row.server) ?? []
    const isCopied = !same.includes(to)
    if (isCopied) {
      copiedTo.add(to)
      // The worker of the target drops databases that are on another server according to its rows.
      if (same.length > 0)
        refusals.push(
          `${row.database} would be copied from "${row.server}" to "${to}", and then dropped from "${row.server}", because the target lists this server, too, as ${same.map((name) => `"${name}"`).join(' and ')}. Give it shoal_name=${row.server} there, so that the database stays where it is, or do not list it.`,
        )
      try {
        await servers.copies.check(targetApp, row, targetName(to))
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        refusals.push(`${row.database}: ${reason.replaceAll(`"${targetName(to)}"`, `"${to}"`)}`)
      }
    }
    planned.push({ row, to, isCopied, bytes: await readSize(cluster.pool, row.database) })
  }
  for (const host of target.hosts) {
    const { name, maxDatabases, cluster } = host
    const ids = planned.filter(({ to }) => to === name).map(({ row }) => row.squidId)
    const count = ids.length
    if (maxDatabases !== null && count > maxDatabases)
      refusals.push(`${count} databases would be on "${name}", but its shoal_max_databases is ${maxDatabases}.`)
    if (!copiedTo.has(name)) continue
    const needed = await servers.copies.neededConnections(app.db, ids)
    const { max, capacity } = await servers.copies.capacityOf(targetApp, host)
    if (needed > capacity)
      refusals.push(
        `The ${count} databases on "${name}" would need ${needed} connections, but it has ${Math.max(0, capacity)} of ${max} for squids. Raise its max_connections (SHOAL_POSTGRES_CONNECTIONS of the embedded Postgres), or hibernate versions before the move.`,
      )
    const rights = await readRights(cluster.pool)
    if (!rights.mayCreateDatabases || !rights.mayCreateRoles)
      refusals.push(`The role of the server "${name}" must have the attributes CREATEDB and CREATEROLE.`)
  }
  return planned
}

/** Returns the names of the servers of the target that are the same Postgres server as each server of the source. */
async function findSameServers(source: Side, target: Side): Promise<Map<string, string[]>> {
  const same = new Map<string, string[]>()
  for (const { name, cluster } of source.hosts) {
    const names: string[] = []
    for (const host of target.hosts) if (await servers.copies.isSameServer(cluster, host.cluster)) names.push(host.name)
    same.set(name, names)
  }
  return same
}

/** Chooses the server of a database in the target: the one with the same name, otherwise the first for all versions. */
function serverFor(target: Side, row: DatabaseRow): string {
  const same = target.hosts.find(({ name }) => name === row.server)
  return (same ?? target.hosts.find(({ isForDedicated }) => !isForDedicated) ?? target.hosts[0])?.name ?? ''
}

/** Sealed values are copied as they are, so the target needs all keys of the source. */
function checkKeys(source: Side, target: Side): string[] {
  const { config } = target
  const isMissing = config.SHOAL_SECRETS_KEY === undefined && !existsSync(keysFile(config))
  const idsOf = ({ SHOAL_SECRETS_KEY: keys, dataDir }: Side['config']) =>
    openKeyRing({ keys, dataDir })
      .keys()
      .map(({ id }) => id)
  const present = isMissing ? [] : idsOf(config)
  const missing = idsOf(source.config).filter((id) => !present.includes(id))
  if (missing.length === 0) return []
  return [
    `The target does not have the keys ${missing.join(', ')} of ${keysLocation(source.config)}, which seal secrets and passwords. Set SHOAL_SECRETS_KEY there to them, newest first and separated by commas, or copy the file secrets.key into its data directory. To change the key, run "${shoalCommand()} secrets rotate-key" afterwards.`,
  ]
}

async function checkServices(target: Side): Promise<string[]> {
  const readClusters = () => Promise.resolve([])
  const examined = { config: target.config, clock: systemClock, stateDir: target.stateDir, servers: [], readClusters }
  const results = await Promise.all([registryCheck, clusterCheck, bucketCheck].map((check) => check.run(examined)))
  const failed = results.flat().filter(({ status }) => status === 'failed')
  return failed.map(({ name, finding, remedy }) => `${name} of the target: ${finding}. ${remedy ?? ''}`)
}

const maxNames = 20

const listNames = (names: string[]): string =>
  `${names.slice(0, maxNames).join(', ')}${names.length > maxNames ? `, and ${names.length - maxNames} more` : ''}`
