import type { Builder, Driver } from '@shoal/runtime'
import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Database, Db } from './db/database.ts'
import type { ExternalServices } from './external-services.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { Mailer } from './mail/mailer.ts'
import type { Sealer } from './sealer.ts'

/** What every part of the server is given; made once in `main.ts`, and by `testing/` for tests. */
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
  driver: Driver
  builder: Builder
  /** Where tests put their own servers in the place of the services outside. */
  external?: Partial<ExternalServices>
}
