import type { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dayOf } from '../clock.ts'
import type { Database } from '../db/database.ts'
import { ensureDayPartition } from '../db/day-partitions.ts'
import { migrate } from '../db/migrate.ts'
import { startJobs } from '../jobs/jobs.ts'
import { createLog } from '../startup/log.ts'
import { cloneDatabase, emptyDatabase } from '../testing/test-database.ts'
import {
  compareRows,
  copyTableRows,
  dropContents,
  listQueues,
  listTableNames,
  lockTables,
  readContents,
} from './control-plane-store.ts'
import { connectForMove } from './move-client-store.ts'

let source: Database
let target: Database
let from: Client
let to: Client
const log = createLog({ SHOAL_LOG_LEVEL: 'silent' })
const day = dayOf(Date.parse('2026-11-28'))

beforeEach(async () => {
  ;[source, target] = await Promise.all([cloneDatabase(), emptyDatabase()])
  const jobs = await startJobs(source, log)
  await jobs.send({ name: 'test.queue', retryLimit: 3 }, { mail: 7 })
  await jobs.close()
  const client = await source.pool.connect()
  for (const table of ['log_lines', 'ingress_minutes']) await ensureDayPartition(client, table, day)
  client.release()
  await source.pool.query(`
    insert into users (email, full_name, email_verified, created_at) select 'user' || i || '@a.dev', E'A\\tB\\n\\\\ "ü"', true, now() from generate_series(1, 50) i;
    insert into audit_log (at, action, subject, after) values (now(), 'test', null, '{"a": [1, null, "\\\\u00e9"]}');
    insert into orgs (code, squids_limit, created_at) values ('acme', 10, now());
    insert into squids (org_id, name, slot, manifest_current) values (1, 'one', 'v1', '{"deploy": {"cors": {"enabled": true}}}');
    insert into log_lines (squid_id, seq, at, level, container, message)
      select 1, i, '${day} 12:00Z', 1, 'api', 'line ' || i from generate_series(1, 1000) i;
    delete from users where email = 'user50@a.dev'`)
  from = await connectForMove(source.url)
  to = await connectForMove(target.url)
})
afterEach(async () => {
  await from?.end()
  await to?.end()
  await Promise.all([source?.close(), target?.close()])
})

/** Prepares the target as the command does, and copies the control plane. */
async function copy() {
  await dropContents(to, await listTableNames(from))
  await migrate(target.pool)
  const jobs = await startJobs(
    target,
    log,
    (await listQueues(from)).map((name) => ({ name })),
  )
  await jobs.close()
  const tables = await lockTables(from)
  await to.query('begin')
  const copied = await copyTableRows(from, to, tables, () => {})
  await to.query('commit')
  return { tables, copied }
}

test('copies rows, days, jobs and the values of sequences; rules for changes apply as before', async () => {
  const { copied } = await copy()
  expect(copied.rows).toBeGreaterThan(1050)
  const read = async ({ pool }: Database, text: string) => (await pool.query<Record<string, unknown>>(text)).rows
  for (const text of [
    'select id, email, full_name from users order by id',
    'select count(*), min(at), max(message) from log_lines',
    'select relname from pg_class join pg_inherits on inhrelid = oid where inhparent in (select oid from pg_class where relnamespace = $$public$$::regnamespace) order by 1',
    'select id, name, data, state, retry_limit from pgboss.job',
    'select name, retry_limit, table_name from pgboss.queue order by 1',
    'select manifest_current, cors from squids',
    `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint where connamespace in ('public'::regnamespace, 'pgboss'::regnamespace) and conname !~ '^queue_stats' order by 1, 2`,
    'select tgname, tgenabled from pg_trigger where not tgisinternal order by 1',
  ])
    expect(await read(target, text), text).toEqual(await read(source, text))
  expect(
    await read(
      target,
      `insert into users (email, full_name, created_at) values ('next@a.dev', 'B', now()) returning id::int`,
    ),
  ).toEqual([{ id: 51 }])
  await expect(target.pool.query('delete from audit_log')).rejects.toThrow()
})

test('copies an installation on which only commands have run, which has no queues yet', async () => {
  await source.pool.query('drop schema pgboss cascade')
  expect((await copy()).copied.rows).toBeGreaterThan(1050)
  const { rows } = await target.pool.query('select name from pgboss.queue')
  expect(rows.filter(({ name }) => !name.startsWith('__pgboss'))).toEqual([])
})

test('while the tables are locked, no process can change the source, and all can read it', async () => {
  await lockTables(from)
  const writer = await connectForMove(source.url)
  try {
    await writer.query(`set lock_timeout = '200ms'`)
    await expect(writer.query(`update users set full_name = 'C'`)).rejects.toThrow('lock timeout')
    await expect(writer.query('delete from pgboss.queue')).rejects.toThrow('lock timeout')
    expect((await writer.query('select from users')).rowCount).toBe(49)
  } finally {
    await writer.end()
  }
})

test('finds a row that differs, and a sequence that differs', async () => {
  const { tables } = await copy()
  await expect(compareRows(from, to, tables)).resolves.toBeGreaterThan(1050)
  await target.pool.query(`update log_lines set message = 'line 0' where seq = 700`)
  await expect(compareRows(from, to, tables)).rejects.toThrow(/rows of public.log_lines_\d{8} differ/)
  await target.pool.query(`update log_lines set message = 'line 700' where seq = 700`)
  await target.pool.query(`select nextval('users_id_seq')`)
  await expect(compareRows(from, to, tables)).rejects.toThrow('sequence public.users_id_seq differs')
})

test('a copy that was interrupted is replaced, and an earlier one, too', async () => {
  await copy()
  await from.query('rollback')
  expect(await readContents(to)).toEqual({ hasTables: true, rows: 50 })
  await source.pool.query(`insert into orgs (code, squids_limit, created_at) values ('later', 10, now())`)
  await copy()
  expect(await readContents(to)).toEqual({ hasTables: true, rows: 51 })
  await target.pool.query('create table other (id int)')
  await dropContents(to, await listTableNames(from))
  expect(await listTableNames(to)).toEqual(['other'])
  expect(await readContents(to)).toEqual({ hasTables: true, rows: 1 })
})
