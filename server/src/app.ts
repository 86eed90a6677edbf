import type { Builder, Directory, Runtime } from '@shoal/runtime'
import type { Logger } from 'pino'
import type { ArtifactStore } from './artifacts/artifact-store.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Database, Db } from './db/database.ts'
import type { Locks } from './db/leases.ts'
import type { DatabaseHosts } from './db/database-hosts.ts'
import type { ExternalServices } from './config/external-services.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { ComponentStates } from './health/component-states.ts'
import type { Mailer } from './mail/mailer.ts'
import type { Sealer } from './sealing/sealer.ts'

/** The context shared by all roles of a process. `openApp` creates it for servers and commands, `testing/` for tests. */
export type App = {
  config: Config
  clock: Clock
  log: Logger
  database: Database
  db: Db
  /** The database of log lines: the one that SHOAL_LOGS_DATABASE_URL names, otherwise `database`. */
  logsDatabase: Database
  /** The Postgres servers with the databases of squids. */
  databaseHosts: DatabaseHosts
  jobs: Jobs
  mailer: Mailer
  /** The key to `/outbox`; null if there is no outbox. */
  outboxKey: string | null
  sealer: Sealer
  artifacts: ArtifactStore
  /** Limits the concurrent uploads of an organization to all api processes. */
  uploadLocks: Locks
  /** Resolves the ports of squids. */
  directory: Directory
  /** The state of the roles of this process, for `/readyz` and `/metrics`. Missing in most tests. */
  componentStates?: ComponentStates
  /** Aborts when the server starts to shut down. Endless responses then end gracefully, so that clients reconnect. */
  draining?: AbortSignal
  /** Allows tests to replace external services with their own servers. */
  external?: Partial<ExternalServices>
}

/** The context of the active worker; only this worker builds and runs squids. */
export type WorkerApp = App & { runtime: Runtime; builder: Builder }
