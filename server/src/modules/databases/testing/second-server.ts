import { startEmbeddedPostgres } from '@shoal/runtime'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { App } from '../../../app.ts'
import { connect, type Database } from '../../../db/database.ts'
import { createDatabaseHosts, type DatabaseHost } from '../../../db/database-hosts.ts'
import { startPostgresProxy, type PostgresProxy } from '../../../testing/postgres-proxy.ts'

/** A real second Postgres server for squids, behind a proxy that can stop it. */
export type SecondServer = {
  proxy: PostgresProxy
  cluster: Database
  /** The port at which squids reach the server. */
  port: number
  /** Sets the servers of the app to `main` and `second`. */
  addTo: (app: App, options?: { main?: Partial<DatabaseHost>; second?: Partial<DatabaseHost> }) => void
  close: () => Promise<void>
}

/** @param maxConnections `max_connections` of the server, squids may use all but 13 of them @param settings other settings of the server */
export async function startSecondServer(
  maxConnections = 60,
  settings: Record<string, string> = {},
): Promise<SecondServer> {
  const dir = mkdtempSync(join(inject('testsDir'), 'second-'))
  chmodSync(dir, 0o711)
  const postgres = await startEmbeddedPostgres({
    dir,
    settings: { max_connections: String(maxConnections), fsync: 'off', ...settings },
  })
  const proxy = await startPostgresProxy(postgres.url('postgres'))
  const url = proxy.via(postgres.url('postgres'))
  const cluster = connect(url, { max: 5 })
  return {
    proxy,
    cluster,
    port: Number(new URL(url).port),
    addTo: (app, { main, second } = {}) => {
      const first = { name: 'main', cluster: app.database, weight: 1, maxDatabases: null, ...main }
      app.databaseHosts = createDatabaseHosts([
        first,
        { name: 'second', cluster, weight: 1, maxDatabases: null, ...second },
      ])
    },
    close: async () => {
      await cluster.close()
      await proxy.close()
      await postgres.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
