import type { App } from '../../../server/src/app.ts'

export const versionCount = 1_000
export const filledDays = 30

type Pool = App['database']['pool']

/** SQL expression of random latencies in the format of the gateway's histogram. */
const histogram = `array(select case when i between 30 and 60 then (random() * 100)::bigint else 0 end from generate_series(1, 100) i)`

/** Inserts the rolled-up metrics of 1,000 versions, each with an api, a processor and a database, over 30 days. */
export async function fillMetrics(pool: Pool, orgCode: string): Promise<void> {
  const run = (text: string, values: unknown[] = []) => pool.query(text, values)
  await run(
    `insert into squids (org_id, name, slot, processors)
     select orgs.id, 'bench-' || n, 'v1', '["eth"]' from orgs, generate_series(1, $2) n where code = $1`,
    [orgCode, versionCount],
  )
  for (let day = 0; day <= filledDays; day++) {
    const name = `to_char(current_date - ${day}, 'YYYYMMDD')`
    await run(`do $$ begin
      execute format('create table if not exists container_hours_%s partition of container_hours for values from (%L) to (%L)',
        ${name}, (current_date - ${day}) || ' 00:00Z', (current_date - ${day - 1}) || ' 00:00Z');
    end $$`)
  }
  await fillContainers(run, 'container_hours', 'hour')
  await fillContainers(run, 'container_days', 'day')
  await run(
    `insert into ingress_days (squid_id, at, successes, errors, success_bytes, error_bytes, histogram)
     select id, at, 10000 * random(), 100 * random(), 1e7 * random(), 1e5 * random(), ${histogram}
     from squids, generate_series(date_trunc('day', now() - interval '${filledDays} days', 'UTC'), now(), interval '1 day') at`,
  )
  await run(
    `insert into sampled_counters (squid_id, generation, container, at, oom_kills, crashes)
     select id, 1, container, now(), 0, 0 from squids, unnest(array['api', 'eth', 'db']) container`,
  )
  await run('vacuum analyze')
}

async function fillContainers(
  run: (text: string) => Promise<unknown>,
  table: string,
  unit: 'hour' | 'day',
): Promise<void> {
  await run(
    `insert into ${table} (squid_id, at, container, observed_seconds, cpu_seconds, cpu_limit_seconds, throttled_seconds,
       memory_byte_seconds, memory_peak_bytes, memory_limit_bytes, oom_kills, crashes, disk_used_bytes, disk_total_bytes,
       blocks, last_block, chain_height)
     select id, at, container, 3600, 1800 * random(), 3600, 100 * random(), 3.6e11, 1e8 * random(), 1e9,
       (random() < 0.01)::int, (random() < 0.05)::int, 1e9 * random(), 1e10, 300, extract(epoch from at) / 12, extract(epoch from at) / 12
     from squids, unnest(array['api', 'eth', 'db']) container,
       generate_series(date_trunc('${unit}', now() - interval '${filledDays} days', 'UTC'), now(), interval '1 ${unit}') at`,
  )
}
