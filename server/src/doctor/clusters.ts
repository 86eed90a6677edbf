import { runningPort } from '@shoal/runtime'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { mainServer } from '../config/database-settings.ts'
import { isSamePostgres } from '../db/database.ts'
import { clusterNames } from '../startup/open-postgres.ts'
import { readPostgres, type PostgresServerState } from './postgres-store.ts'

type Installation = { config: Config; clock: Clock; stateDir: string }

/** A Postgres of the installation. `url` is null while an embedded one does not run. */
type Cluster = { name: string; url: string | null; isEmbedded: boolean; isForSquids: boolean }

function clustersOf({ config, stateDir }: Installation): Cluster[] {
  const control = config.DATABASE_URL ?? embeddedUrl(join(stateDir, clusterNames.controlPlane))
  const embedded =
    config.DATABASE_URL === undefined ? embeddedUrl(join(stateDir, clusterNames.squids)) : config.DATABASE_URL
  const isListed = config.squidServers.length > 0
  const servers = isListed ? config.squidServers : [{ name: mainServer, url: embedded }]
  const isControl = (url: string | null) => control !== null && url !== null && isSamePostgres(control, url)
  const isEmbedded = config.DATABASE_URL === undefined
  const isShared = servers.some(({ url }) => isControl(url))
  const controlPlane = { name: 'Postgres of Shoal', url: control, isEmbedded, isForSquids: isShared }
  const squidClusters = servers
    .filter(({ url }) => !isControl(url))
    .map(({ name, url }) => ({
      name: config.squidServers.length > 1 ? `Postgres of squids "${name}"` : 'Postgres of squids',
      url,
      isEmbedded: isEmbedded && !isListed,
      isForSquids: true,
    }))
  const logsUrl = config.SHOAL_LOGS_DATABASE_URL
  const logsClusters =
    logsUrl === undefined ? [] : [{ name: 'Postgres of logs', url: logsUrl, isEmbedded: false, isForSquids: false }]
  return [controlPlane, ...squidClusters, ...logsClusters]
}

function embeddedUrl(dir: string): string | null {
  const passwordFile = join(dir, 'password')
  const port = runningPort(join(dir, 'data'))
  if (port === null || !existsSync(passwordFile)) return null
  const password = encodeURIComponent(readFileSync(passwordFile, 'utf8').trim())
  return `postgres://shoal:${password}@127.0.0.1:${port}/postgres`
}

/** A Postgres of the installation and what it reported. `state` is null while an embedded one does not run, or if there is an `error`. */
export type ClusterReading = Omit<Cluster, 'url'> & { state: PostgresServerState | null; error: unknown }

/** Returns a function that reads the Postgres servers of the installation at its first call, and returns the same readings after that. */
export function clusterReader(installation: Installation): () => Promise<ClusterReading[]> {
  const nowMs = () => installation.clock.now().getTime()
  const read = async ({ url, ...cluster }: Cluster): Promise<ClusterReading> => {
    try {
      return { ...cluster, state: url === null ? null : await readPostgres(url, nowMs), error: null }
    } catch (error) {
      return { ...cluster, state: null, error }
    }
  }
  let readings: Promise<ClusterReading[]> | null = null
  return () => (readings ??= Promise.all(clustersOf(installation).map(read)))
}
