import { runningPort } from '@shoal/runtime'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSamePostgres } from '../db/database.ts'
import { safeText } from '../db/safe-error.ts'
import { clusterNames } from '../startup/open-postgres.ts'
import { failed, ok, warning, type Check, type CheckResult, type Examined } from './check.ts'
import { readPostgres } from './postgres-store.ts'

/** A Postgres of the installation. `url` is null while an embedded one does not run. */
type Cluster = { name: string; url: string | null; isEmbedded: boolean; isForSquids: boolean }

/** Returns the Postgres servers of the installation. */
export function clustersOf({ config, stateDir }: Examined): Cluster[] {
  const control = config.DATABASE_URL ?? embeddedUrl(join(stateDir, clusterNames.controlPlane))
  const squids =
    config.SHOAL_SQUIDS_DATABASE_URL ??
    (config.DATABASE_URL === undefined ? embeddedUrl(join(stateDir, clusterNames.squids)) : config.DATABASE_URL)
  const isShared = control !== null && squids !== null && isSamePostgres(control, squids)
  const isEmbedded = config.DATABASE_URL === undefined
  const controlPlane = { name: 'Postgres of Shoal', url: control, isEmbedded, isForSquids: isShared }
  if (isShared) return [controlPlane]
  const isSquidsEmbedded = isEmbedded && config.SHOAL_SQUIDS_DATABASE_URL === undefined
  return [controlPlane, { name: 'Postgres of squids', url: squids, isEmbedded: isSquidsEmbedded, isForSquids: true }]
}

function embeddedUrl(dir: string): string | null {
  const passwordFile = join(dir, 'password')
  const port = runningPort(join(dir, 'data'))
  if (port === null || !existsSync(passwordFile)) return null
  const password = encodeURIComponent(readFileSync(passwordFile, 'utf8').trim())
  return `postgres://shoal:${password}@127.0.0.1:${port}/postgres`
}

const oldestVersion = 14

/** Checks the version, the rights and the free connections of each Postgres. */
export const postgresCheck: Check = {
  name: 'Postgres',
  run: async (examined) =>
    (await Promise.all(clustersOf(examined).map((cluster) => checkCluster(examined, cluster)))).flat(),
}

async function checkCluster(
  { servers, clock }: Examined,
  { name, url, isEmbedded, isForSquids }: Cluster,
): Promise<CheckResult[]> {
  if (url === null)
    return servers.length === 0
      ? [ok(name, 'embedded; it starts with the server')]
      : [failed(name, 'embedded, and does not run although a server does', 'Read the log of the server.')]
  try {
    const state = await readPostgres(url, () => clock.now().getTime())
    const results = [versionResult(name, state), connectionsResult(name, state, isEmbedded)]
    if (isForSquids && !state.mayCreateDatabases)
      results.push(
        failed(
          name,
          'the role may not create databases and roles, so squids cannot get a database',
          'alter role … createdb createrole',
        ),
      )
    return results
  } catch (error) {
    const remedy = isEmbedded ? 'Read its log, postgres.log.' : 'Check the URL, the network and pg_hba.conf.'
    return [failed(name, `does not respond: ${safeText(error).split('\n')[0]}`, remedy)]
  }
}

/** `versionNumber`: as in `server_version_num`, 150004 for 15.4. */
export function versionResult(name: string, state: { version: string; versionNumber: number }): CheckResult {
  return state.versionNumber >= oldestVersion * 10_000
    ? ok(name, `version ${state.version}`)
    : failed(name, `version ${state.version}`, `Upgrade it to Postgres ${oldestVersion} or newer.`)
}

function connectionsResult(
  name: string,
  { connections, maxConnections }: { connections: number; maxConnections: number },
  isEmbedded: boolean,
): CheckResult {
  const finding = `${connections} of ${maxConnections} connections are open`
  const remedy = isEmbedded
    ? 'Raise SHOAL_POSTGRES_CONNECTIONS and restart the server, or hibernate squids.'
    : 'Raise max_connections, or hibernate squids.'
  const share = connections / maxConnections
  if (share >= 0.95) return failed(name, finding, remedy)
  return share >= 0.8 ? warning(name, finding, remedy) : ok(name, finding)
}
