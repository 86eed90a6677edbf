import { safeText } from '../db/safe-error.ts'
import { failed, ok, warning, type Check, type CheckResult, type Examined } from './check.ts'
import type { ClusterReading } from './clusters.ts'

const oldestVersion = 14

/** Checks the version, the rights and the free connections of each Postgres. */
export const postgresCheck: Check = {
  name: 'Postgres',
  run: async ({ servers, readClusters }) => (await readClusters()).flatMap((cluster) => checkCluster(cluster, servers)),
}

function checkCluster(
  { name, isEmbedded, isForSquids, state, error }: ClusterReading,
  servers: Examined['servers'],
): CheckResult[] {
  if (error !== null) {
    const remedy = isEmbedded ? 'Read its log, postgres.log.' : 'Check the URL, the network and pg_hba.conf.'
    return [failed(name, `does not respond: ${safeText(error).split('\n')[0]}`, remedy)]
  }
  if (state === null)
    return servers.length === 0
      ? [ok(name, 'embedded; it starts with the server')]
      : [failed(name, 'embedded, and does not run although a server does', 'Read the log of the server.')]
  const results = [versionResult(name, state), connectionsResult(name, state, isEmbedded)]
  if (isForSquids && !state.mayCreateDatabases)
    results.push(
      failed(
        name,
        'the role may not create databases and roles, so squids cannot get a database',
        'Run: alter role … createdb createrole',
      ),
    )
  return results
}

/** Checks that Shoal supports a version of Postgres. `versionNumber`: as in `server_version_num`, 150004 for 15.4. */
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
