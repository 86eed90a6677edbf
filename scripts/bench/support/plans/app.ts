import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSimBuilder, createSimRuntime, type Directory } from '../../../../runtime/src/index.ts'
import type { WorkerApp } from '../../../../server/src/app.ts'
import { openArtifactStore } from '../../../../server/src/artifacts/open-artifact-store.ts'
import { systemClock } from '../../../../server/src/clock.ts'
import { loadConfig } from '../../../../server/src/config/config.ts'
import { connect } from '../../../../server/src/db/database.ts'
import { singleHost } from '../../../../server/src/db/database-hosts.ts'
import { lockSpaces, openLocks } from '../../../../server/src/db/leases.ts'
import { migrate } from '../../../../server/src/db/migrate.ts'
import { noComponentStates } from '../../../../server/src/health/component-states.ts'
import { startJobs } from '../../../../server/src/jobs/jobs.ts'
import { createMailer } from '../../../../server/src/mail/index.ts'
import { installationPrefix } from '../../../../server/src/modules/databases/index.ts'
import type { Sealer } from '../../../../server/src/sealing/sealer.ts'
import { createLog } from '../../../../server/src/startup/log.ts'
import { sendableJobs } from '../../../../server/src/startup/sendable-jobs.ts'
import { providerSettings } from './services.ts'

/** Stores sealed columns in plain text, so that SQL statements can fill them. */
const plainTextSealer: Sealer = { seal: (plain) => plain, open: (sealed) => sealed, isCurrent: () => true }

/** The host name of the gateway, for which it orders a certificate. */
export const gatewayName = 'squids.example.com'

/** `failedStatements`: lines of the log about statements that Postgres rejected. Statements after such a failure may be missing from the recording. */
export type BenchApp = { app: WorkerApp; failedStatements: string[]; close: () => Promise<void> }

/** Opens the context of a server with all roles and the `sim` runtime, and migrates its database. */
export async function openBenchApp(
  databaseUrl: string,
  filledVersions: number,
  {
    devnetUrl = 'http://127.0.0.1:9',
    external = {},
  }: { devnetUrl?: string; external?: NonNullable<WorkerApp['external']> } = {},
): Promise<BenchApp> {
  const config = loadConfig({
    SHOAL_DATA_DIR: mkdtempSync(join(tmpdir(), 'data-')),
    DATABASE_URL: databaseUrl,
    SHOAL_RUNTIME: 'sim',
    SHOAL_LOG_LEVEL: 'warn',
    SHOAL_DEVNET_URL: devnetUrl,
    SHOAL_ALERTS_ALLOW_PRIVATE: 'true',
    SHOAL_PUBLIC_URL: 'https://console.example.com',
    SHOAL_GATEWAY_URL: `https://${gatewayName}/{org}`,
    // No server listens at these addresses, so that due orders of certificates and due checks of domains fail.
    SHOAL_TLS: 'acme',
    SHOAL_ACME_DIRECTORY_URL: 'https://127.0.0.1:9/directory',
    SHOAL_DNS_SERVERS: '127.0.0.1:9',
    ...providerSettings,
  })
  const failedStatements: string[] = []
  const log = createLog(config, { write: (line) => void (isFailedStatement(line) && failedStatements.push(line)) })
  const database = connect(databaseUrl)
  await migrate(database.pool)
  const jobs = await startJobs(database, log, sendableJobs)
  const builder = createSimBuilder()
  const runtime = createSimRuntime({ serve: true, hasImage: () => true })
  const base = {
    config,
    clock: systemClock,
    log,
    database,
    db: database.db,
    logsDatabase: database,
    databaseHosts: singleHost(database),
    jobs,
    sealer: plainTextSealer,
    artifacts: await openArtifactStore(config, () => installationPrefix(database.db)),
    uploadLocks: openLocks(database, lockSpaces.uploads),
    directory: refusingFilledVersions(runtime.directory, filledVersions),
    runtime,
    builder,
    componentStates: noComponentStates(),
    outboxKey: null,
    external,
  }
  const close = async () => {
    await runtime.close('stop')
    await jobs.close()
    await base.uploadLocks.close()
    await database.close()
  }
  return { app: { ...base, mailer: createMailer(base) }, failedStatements, close }
}

const isFailedStatement = (line: string) =>
  (JSON.parse(line) as { err?: { type?: string } }).err?.type === 'DrizzleQueryError'

/** Returns a directory whose endpoints of the first `filledVersions` versions refuse connections: tens of thousands of listening servers would need too much memory. */
const refusingFilledVersions = (directory: Directory, filledVersions: number): Directory => ({
  start: () => directory.start(),
  endpoint: (id, name, port) =>
    Number(id.split('.')[0]) > filledVersions
      ? directory.endpoint(id, name, port)
      : { kind: 'tcp', host: '127.0.0.1', port: 9 },
  changed: (listener) => directory.changed(listener),
  close: () => directory.close(),
})
