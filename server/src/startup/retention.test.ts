import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../db/sql.ts'
import { days } from '../clock.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { runJob } from '../testing/run-job.ts'
import { retentionJobs } from './retention.ts'

let t: TestApp

beforeAll(async () => {
  t = await startTestApp()
})
afterAll(() => t.close())

const daysAgo = (count: number) => new Date(t.clock.now().getTime() - days(count)).toISOString()

async function readColumn(query: ReturnType<typeof sql>): Promise<unknown[]> {
  return (await t.app.db.execute<{ value: unknown }>(query)).rows.map(({ value }) => value)
}

async function deleteOldRows(): Promise<void> {
  for (const job of retentionJobs(t.app)) await runJob(job)
}

test('old deployments are deleted with their logs, except the last one of an existing version and those of kept images', async () => {
  const { id: org } = await t.make.org()
  await t.app.db.execute(sql`
    insert into squids (id, org_id, name, slot) overriding system value
    values (501, ${org}, 'a', 'v1'), (502, ${org}, 'a', 'v2');
  `)
  await t.app.db.execute(sql`
    insert into deployments (id, org_id, squid_id, squid_name, squid_slot, type, status, request_key, created_at, updated_at, finished_at)
    overriding system value
    select n, ${org}, case when n < 9004 then 501 when n = 9004 then 502 else 503 end, 'a', 'v1', 'DEPLOY', 'OK', 'key-' || n, at, at, at
    from (values (9001, ${daysAgo(400)}::timestamptz), (9002, ${daysAgo(399)}), (9003, ${daysAgo(10)}), (9004, ${daysAgo(900)}),
      (9005, ${daysAgo(366)}), (9006, ${daysAgo(364)})) v (n, at)`)
  await t.app.db.execute(sql`
    insert into deployment_logs (deployment_id, seq, at, severity, message)
    select n, 0, now(), 'info', 'a line' from generate_series(9001, 9006) n`)
  await t.app.db.execute(sql`
    insert into squid_images (squid_id, deployment_id, image, manifest_raw, manifest_current, package_json, bytes, created_at)
    values (501, 9002, 'image', '', '{}', '{}', 1, now())`)
  await deleteOldRows()
  expect(await readColumn(sql`select id::int as value from deployments where id > 9000 order by id`)).toEqual([
    9002, 9003, 9004, 9006,
  ])
  expect(await readColumn(sql`select deployment_id::int as value from deployment_logs order by 1`)).toEqual([
    9002, 9003, 9004, 9006,
  ])
})

test('old rows of the audit log can be deleted only by the retention job', async () => {
  await t.app.db.execute(
    sql`insert into audit_log (at, action) values (${daysAgo(731)}, 'old'), (${daysAgo(729)}, 'new')`,
  )
  await expect(t.app.db.execute(sql`delete from audit_log where action = 'old'`)).rejects.toThrow()
  await deleteOldRows()
  expect(await readColumn(sql`select action as value from audit_log where action in ('old', 'new')`)).toEqual(['new'])
  await expect(t.app.db.execute(sql`update audit_log set action = 'changed'`)).rejects.toThrow()
})

test('old hourly usage is deleted, but usage that is billed to an organization only after its invoice exists', async () => {
  const { id: org } = await t.make.org()
  const record = (resource: string, hour: string, month: string) => sql`
    insert into usage_records (org_id, source, resource, type, hour, part, quantity, month, recorded_at)
    values (${org}, 'containers', ${resource}, 'api', ${hour}, 0, 1, ${month}, now())`
  await t.app.db.execute(record('old and invoiced', daysAgo(801), '2001-01'))
  await t.app.db.execute(record('old and open', daysAgo(801), '2001-02'))
  await t.app.db.execute(record('new', daysAgo(1), '2001-01'))
  await t.app.db.execute(sql`
    insert into invoices (number, org_id, month, closed_at, receipt, customer, total_usd)
    values (77, ${org}, '2001-01', now(), '{}', '{}', 0)`)
  const hours = [daysAgo(801), daysAgo(1)]
  for (const hour of hours) {
    await t.app.db.execute(sql`insert into rpc_usage values (${org}, 'eth', 'eth_call', '', ${hour}, 1, 0)`)
    await t.app.db.execute(sql`insert into portal_usage values ('eth', '', ${hour}, 1, 1)`)
  }
  await deleteOldRows()
  expect(await readColumn(sql`select resource as value from usage_records order by 1`)).toEqual(['new', 'old and open'])
  expect(await readColumn(sql`select count(*)::int as value from rpc_usage`)).toEqual([1])
  expect(await readColumn(sql`select count(*)::int as value from portal_usage`)).toEqual([1])
})

test('payments are kept as long as an invoice may need them', async () => {
  const { id: org } = await t.make.org()
  const { rows } = await t.app.db.execute<{ number: number }>(
    sql`select coalesce(max(number), 0)::int as number from invoices`,
  )
  const first = (rows[0]?.number ?? 0) + 1
  await t.app.db.execute(sql`
    insert into invoices (number, org_id, month, closed_at, receipt, customer, total_usd, paid_at) values
      (${first}, ${org}, '1990-01', now(), '{}', '{}', 1, now()),
      (${first + 1}, ${org}, '1990-02', now(), '{}', '{}', 1, null),
      (${first + 2}, 999999, '1990-01', now(), '{}', '{}', 1, null)`)
  await t.app.db.execute(sql`
    insert into charges (key, invoice, org_id, payment_method_id, amount_cents, status, at) values
      ('paid', ${first}, ${org}, 'card', 100, 'succeeded', ${daysAgo(3661)}),
      ('newer', ${first}, ${org}, 'card', 100, 'failed', ${daysAgo(3659)}),
      ('unpaid', ${first + 1}, ${org}, 'card', 100, 'failed', ${daysAgo(3661)}),
      ('written off', ${first + 2}, 999999, 'card', 100, 'failed', ${daysAgo(3661)})`)
  await t.app.db.execute(sql`insert into billing_events values ('old', ${daysAgo(3661)}), ('new', ${daysAgo(3659)})`)
  await deleteOldRows()
  expect(await readColumn(sql`select key as value from charges order by 1`)).toEqual(['newer', 'unpaid'])
  expect(await readColumn(sql`select id as value from billing_events`)).toEqual(['new'])
})

test('the usage of quotas of old months is deleted', async () => {
  const { id: org } = await t.make.org()
  await t.app.db.execute(sql`
    insert into quota_usage (org_id, quota, month, used) values
      (${org}, 'rpc', ${daysAgo(801).slice(0, 10)}, 1), (${org}, 'rpc', ${daysAgo(799).slice(0, 10)}, 2)`)
  await deleteOldRows()
  expect(await readColumn(sql`select used::int as value from quota_usage where org_id = ${org}`)).toEqual([2])
})

test('card forms of the test provider are deleted unless an organization has the card', async () => {
  const { id: org } = await t.make.org()
  await t.app.db.execute(sql`
    insert into payment_methods (id, org_id, details, added_at) values ('in use', ${org}, '{}', now())`)
  const setup = (secret: string, method: string | null, at: string) => sql`
    insert into billing_test_setups (client_secret, org_id, customer_id, status, payment_method_id, created_on)
    values (${secret}, ${org}, 'customer', 'succeeded', ${method}, ${at.slice(0, 10)})`
  await t.app.db.execute(setup('abandoned', null, daysAgo(9)))
  await t.app.db.execute(setup('deleted card', 'deleted', daysAgo(9)))
  await t.app.db.execute(setup('card', 'in use', daysAgo(9)))
  await t.app.db.execute(setup('open', null, daysAgo(6)))
  await deleteOldRows()
  expect(await readColumn(sql`select client_secret as value from billing_test_setups order by 1`)).toEqual([
    'card',
    'open',
  ])
})

/** Tables without a statement that deletes their rows, by the reason why they do not grow without limit. */
const boundedTables: Record<string, string[]> = {
  'A row for the installation, or for each of its chains, nodes or keys.': [
    'acme_accounts',
    'chain_heads',
    'installation',
    'installation_move',
    'meter_state',
    'metric_rollups',
    'rpc_upstream_states',
    'sampler_state',
    'signing_keys',
  ],
  'A row for each organization, rule or program, deleted with it or overwritten.': [
    'alert_rules',
    'api_states',
    'billing_accounts',
    'container_states',
    'processor_sources',
    'processor_states',
    'rpc_tokens',
    'status_pages',
  ],
  'Deleted with the deployment or incident.': [
    'deployment_files',
    'deployment_logs',
    'deployment_steps',
    'status_updates',
  ],
  'Whole days are dropped, or `deleteBefore` of metrics deletes the rows.': [
    'container_days',
    'container_hours',
    'container_minutes',
    'container_months',
    'container_samples',
    'ingress_days',
    'ingress_hours',
    'ingress_minutes',
    'ingress_months',
    'log_lines',
  ],
  'Kept forever: the numbers of invoices have no gaps.': ['invoices'],
}

test('every table has a statement that deletes rows, or does not grow without limit', () => {
  const cwd = join(import.meta.dirname, '..')
  const files = globSync('**/*.ts', { cwd }).filter((file) => !/\.test\.ts$|(^|\/)testing\//.test(file))
  const sources = files.map((file) => ({ file, text: readFileSync(join(cwd, file), 'utf8') }))
  const code = sources.flatMap(({ file, text }) => (file.endsWith('tables.ts') ? [] : [text])).join('\n')
  const tables = sources
    .filter(({ file }) => file.endsWith('tables.ts'))
    .flatMap(({ text }) => [...text.matchAll(/export const (\w+) = pgTable\(\s*'(\w+)'/g)])
  const isDeleted = (exportedAs: string, name: string) =>
    new RegExp(`delete\\(${exportedAs}\\)|delete from ${name}\\b|deleteInBatches\\(\\w+, ${exportedAs}\\b`).test(code)
  const withoutDelete = tables.flatMap(([, exportedAs = '', name = '']) => (isDeleted(exportedAs, name) ? [] : [name]))
  expect(withoutDelete.sort()).toEqual(Object.values(boundedTables).flat().sort())
})
