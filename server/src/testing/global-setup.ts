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
    /** The URL of the tests' Postgres, with the placeholder `{database}`. */
    postgresUrl: string
    /** A directory for files of tests, deleted after the run. */
    testsDir: string
  }
}

/** Starts one real Postgres for all tests, with a migrated database that each test file clones. Returns a function that deletes it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(process.env['SHOAL_TEST_MEMORY'] ?? tmpdir(), 'shoal-tests-'))
  chmodSync(dir, 0o755)
  const stopImmediately = () => {
    killPostgres(join(dir, 'data'))
    rmSync(dir, { recursive: true, force: true })
  }
  process.once('exit', stopImmediately)
  const postgres = await startEmbeddedPostgres({
    dir,
    settings: { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' },
  })
  const stop = async () => {
    await postgres.stop()
    rmSync(dir, { recursive: true, force: true })
    process.off('exit', stopImmediately)
  }
  try {
    await createTemplate(postgres.url)
  } catch (error) {
    await stop()
    throw error
  }
  project.provide('postgresUrl', postgres.url('{database}'))
  project.provide('testsDir', dir)
  return stop
}

async function createTemplate(url: (database: string) => string): Promise<void> {
  const admin = new Client(url('postgres'))
  await admin.connect()
  try {
    await admin.query(`create database ${templateName}`)
    await migrateTemplate(url(templateName))
    // Postgres can only clone a database without connections.
    await admin.query(`alter database ${templateName} with allow_connections false`)
  } finally {
    await admin.end()
  }
}

async function migrateTemplate(url: string): Promise<void> {
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

/** Stops Postgres immediately (SIGQUIT) when the test run is interrupted. Synchronous, since it runs in an exit handler. */
function killPostgres(dataDir: string): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  try {
    const pid = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, 'SIGQUIT')
    // Wait until `kill` throws because the process has exited: until then it may write files.
    for (let attempt = 0; attempt < 250; attempt++) {
      process.kill(pid, 0)
      Atomics.wait(sleeper, 0, 0, 20)
    }
  } catch {
    // The process has exited.
  }
}
