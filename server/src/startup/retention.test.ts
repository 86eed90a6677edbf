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

test('old deployments are deleted with their logs, except the last one of a version and those of kept images', async () => {
  const { id: org } = await t.make.org()
  await t.app.db.execute(sql`
    insert into squids (id, org_id, name, slot) overriding system value values (501, ${org}, 'a', 'v1');
  `)
  await t.app.db.execute(sql`
    insert into deployments (id, org_id, squid_id, squid_name, squid_slot, type, status, request_key, created_at, updated_at, finished_at)
    overriding system value
    select n, ${org}, case when n < 9004 then 501 else 502 end, 'a', 'v1', 'DEPLOY', 'OK', 'key-' || n, at, at, at
    from (values (9001, ${daysAgo(400)}::timestamptz), (9002, ${daysAgo(399)}), (9003, ${daysAgo(10)}), (9004, ${daysAgo(900)})) v (n, at)`)
  await t.app.db.execute(sql`
    insert into deployment_logs (deployment_id, seq, at, severity, message)
    select n, 0, now(), 'info', 'a line' from generate_series(9001, 9004) n`)
  await t.app.db.execute(sql`
    insert into squid_images (squid_id, deployment_id, image, manifest_raw, manifest_current, package_json, bytes, created_at)
    values (501, 9002, 'image', '', '{}', '{}', 1, now())`)
  await deleteOldRows()
  expect(await readColumn(sql`select id::int as value from deployments where id > 9000 order by id`)).toEqual([
    9002, 9003, 9004,
  ])
  expect(await readColumn(sql`select deployment_id::int as value from deployment_logs order by 1`)).toEqual([
    9002, 9003, 9004,
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
