import type { Builder, Directory, Runtime } from '@shoal/runtime'
import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Database, Db } from './db/database.ts'
import type { ExternalServices } from './config/external-services.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { Vitals } from './health/vitals.ts'
import type { Mailer } from './mail/mailer.ts'
import type { Sealer } from './sealing/sealer.ts'

/** What every role is given; made once in `main.ts`, and by `testing/` for tests. */
export type App = {
  config: Config
  clock: Clock
  log: Logger
  database: Database
  db: Db
  /** Superuser-like connection to the Postgres that holds the databases of squids. */
  squidsDatabase: Database
  jobs: Jobs
  mailer: Mailer
  sealer: Sealer
  /** Where the ports of squids are. */
  directory: Directory
  /** What the roles of this process tell of themselves, for `/readyz` and `/metrics`; a test has none. */
  vitals?: Vitals
  /** Aborted when the server begins to end: what would go on for ever ends in order, so that its clients come back. */
  draining?: AbortSignal
  /** Where tests put their own servers in the place of the services outside. */
  external?: Partial<ExternalServices>
}

/** What the worker has beyond that: it alone builds and runs squids. */
export type WorkerApp = App & { runtime: Runtime; builder: Builder }
