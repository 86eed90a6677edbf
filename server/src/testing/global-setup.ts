import { startEmbeddedPostgres } from '@shoal/runtime'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { PgBoss } from 'pg-boss'
import type { TestProject } from 'vitest/node'
import { connect } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { templateName } from './test-database.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the tests' Postgres, with `{database}` in it. */
    postgresUrl: string
    /** For files of tests; gone with the run. */
    testsDir: string
  }
}

/** One real Postgres for all tests, with a migrated database that each test file clones. Nothing of it survives them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-tests-'))
  chmodSync(dir, 0o755)
  const endAtOnce = () => {
    killPostgres(join(dir, 'data'))
    rmSync(dir, { recursive: true, force: true })
  }
  process.once('exit', endAtOnce)
  const postgres = await startEmbeddedPostgres({
    dir,
    settings: { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' },
  })
  const end = async () => {
    await postgres.stop()
    rmSync(dir, { recursive: true, force: true })
    process.off('exit', endAtOnce)
  }
  try {
    await makeTemplate(postgres.url)
  } catch (error) {
    await end()
    throw error
  }
  project.provide('postgresUrl', postgres.url('{database}'))
  project.provide('testsDir', dir)
  return end
}

async function makeTemplate(url: (database: string) => string): Promise<void> {
  const admin = new Client(url('postgres'))
  await admin.connect()
  try {
    await admin.query(`create database ${templateName}`)
    await fillTemplate(url(templateName))
    // Postgres clones only a database that nobody uses; this keeps everybody out.
    await admin.query(`alter database ${templateName} with allow_connections false`)
  } finally {
    await admin.end()
  }
}

async function fillTemplate(url: string): Promise<void> {
  const database = connect(url)
  try {
    await migrate(database.pool)
  } finally {
    await database.close()
  }
  const boss = new PgBoss({ connectionString: url, schema: 'pgboss' })
  await boss.start()
  await boss.stop({ graceful: false })
}

/** For when the test run is cut short, in an exit handler, which cannot wait for events. SIGQUIT is Postgres' immediate shutdown. */
function killPostgres(dataDir: string): void {
  const stopwatch = new Int32Array(new SharedArrayBuffer(4))
  try {
    const pid = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, 'SIGQUIT')
    // It writes until it has ended; then this throws.
    for (let round = 0; round < 250; round++) {
      process.kill(pid, 0)
      Atomics.wait(stopwatch, 0, 0, 20)
    }
  } catch {
    // Not running any more.
  }
}
