import { traversableDir } from '@shoal/runtime'
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { connect, type Database } from '../db/database.ts'
import { createDatabaseHosts, singleHost, type DatabaseHost, type DatabaseHosts } from '../db/database-hosts.ts'
import { createLog } from '../startup/log.ts'
import { openPostgres } from '../startup/open-postgres.ts'
import { withOwnName } from './move-client-store.ts'

/** One of the two configurations of a move, with connections to its databases. */
export type Side = {
  config: Config
  stateDir: string
  log: Logger
  database: Database
  /** The Postgres servers of squids. */
  hosts: readonly DatabaseHost[]
  /** The runtime and the address of the database, without credentials, as text for the operator. */
  location: string
  /** `stop`: stops the embedded Postgres even if a server had left it running. */
  close: (postgres: 'as-found' | 'stop') => Promise<void>
}

/** Connects to the databases of a configuration, and starts its embedded Postgres if it has one. Changes no row. */
export async function openSide(config: Config): Promise<Side> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o755 })
  const stateDir = traversableDir(config.dataDir)
  const log = createLog({ SHOAL_LOG_LEVEL: 'warn' })
  const postgres = await openPostgres(config, stateDir, log)
  const database = connect(withOwnName(postgres.url), { max: 5 })
  const servers = (postgres.squidServers ?? []).map(({ url, ...server }) => ({
    ...server,
    cluster: connect(withOwnName(url), { max: 5 }),
  }))
  const hosts = servers.length > 0 ? servers : singleHost(database).all
  return {
    config,
    stateDir,
    log,
    database,
    hosts,
    location: describeLocation(config, postgres.url),
    close: async (mode) => {
      await Promise.all(servers.map(({ cluster }) => cluster.close()))
      await database.close()
      await postgres.close(mode)
    },
  }
}

function describeLocation(config: Config, databaseUrl: string): string {
  const { hostname: host, port, pathname } = new URL(databaseUrl)
  const database =
    config.DATABASE_URL === undefined
      ? `the embedded Postgres in ${config.dataDir} on ${hostname()}`
      : `the database ${host}:${port || '5432'}${pathname}`
  return `${database} (SHOAL_RUNTIME=${config.SHOAL_RUNTIME})`
}

/** The name of a server of the target in `hostsOfBothSides`, since both sides may have a server of the same name. */
export const targetName = (server: string): string => `to:${server}`

/** Returns the servers of both sides: those of the source by their names, those of the target by `targetName`. */
export const hostsOfBothSides = (source: Side, target: Side): DatabaseHosts =>
  createDatabaseHosts([...source.hosts, ...target.hosts.map((host) => ({ ...host, name: targetName(host.name) }))])
