import { gzipSync } from 'node:zlib'
import type { App } from '../../../../server/src/app.ts'
import { catalogs } from './catalogs.ts'
import { billing, billingStates, meteredResources } from './fill-billing.ts'
import { domains } from './fill-domains.ts'
import { statusPages } from './fill-status-pages.ts'

type Pool = App['database']['pool']

/** Average number of versions per organization. The first organization has a tenth of all versions. */
const versionsPerOrg = 25

const containers = `unnest(array['api', 'processor'])`

const manifest = {
  manifest_version: 'subsquid.io/v0.1',
  name: 'squid',
  description: 'Transfers of the largest tokens. '.repeat(20),
  build: { cmd: ['npm', 'run', 'build'] },
  deploy: {
    addons: { postgres: {} },
    env: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`VARIABLE_${i}`, `value ${i} of the squid`])),
    cors: { enabled: true, allow_origin: 'https://app.example.com' },
    init: { cmd: ['npm', 'run', 'migrate'] },
    processor: [{ name: 'processor', cmd: ['node', 'lib/main.js'], env: { RPC_URL: '${{ secrets.RPC_URL }}' } }],
    api: { cmd: ['npm', 'run', 'api'] },
  },
}
const packageJson = {
  name: 'squid',
  dependencies: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`@subsquid/package-${i}`, `^${i}.0.0`])),
}
/** The gzipped list of files of an empty archive, in hex. */
const emptyFileList = gzipSync(JSON.stringify({ files: [], isComplete: true })).toString('hex')
const jsonLiteral = (value: unknown) => `'${JSON.stringify(value).replaceAll("'", "''")}'`

/** The address of a chain at the gateway, from which Shoal reads the chain that a processor indexes. */
const rpcUrl = 'https://squids.example.com/rpc/devnet/shoal_rpc_sample'

/** SQL expression of the workload of version `s`, in plain text. */
const workload = `json_build_object('id', s.id || '.1', 'tenant', s.org_id::text, 'version', s.id::text, 'image', s.image, 'containers',
  (select json_agg(json_build_object('name', name, 'command', json_build_array('node'), 'env', json_build_object('SQUID_ID', s.id::text, 'RPC_URL', '${rpcUrl}'),
    'resources', json_build_object('cpuCores', 0.25, 'memoryBytes', 268435456), 'restart', case when name = 'api' then 'always' else 'on-failure' end,
    'ports', json_build_array(case when name = 'api' then 4350 else 3000 end), 'stopGraceMs', 5000)) from ${containers} name))::text`

const orgAndUserRows = (orgs: number) => [
  `insert into users (email, full_name, email_verified, policy_accepted, created_at)
   select 'user-' || n || '@example.com', 'User ' || n, true, true, now() from generate_series(1, ${3 * orgs}) n`,
  `insert into sessions (id, user_id, created_at, last_seen_at, expires_at)
   select gen_random_uuid(), id, now(), now(), now() + interval '30 days' from users, generate_series(1, 3)`,
  `insert into api_tokens (user_id, name, prefix, hash, scope, created_at) select id, 'token ' || n, 'sqd', md5(id || '-' || n), 'admin', now()
   from users, generate_series(1, 2) n`,
  `insert into known_addresses (user_id, ip, seen_at) select id, '10.0.0.' || n, now() from users, generate_series(1, 3) n`,
  `insert into email_links (hash, purpose, user_id, created_at, expires_at)
   select md5('link' || id), 'restore', id, now(), now() + interval '1 hour' from users`,
  `insert into oauth_identities (provider, subject, user_id, created_at) select 'github', id::text, id, now() from users`,
  `insert into rate_counters (key, count, ends_at) select 'signin:' || n, 1, now() + interval '1 minute' from generate_series(1, 5000) n`,
  `insert into orgs (code, name, status, squids_limit, created_at)
   select 'org-' || n, 'Organization ' || n, 'ACTIVE', 100000, now() - interval '200 days' from generate_series(1, ${orgs}) n`,
  `insert into roles (org_id, user_id, type, created_at) select o.id, u.id, 'developer', now() from orgs o join users u on u.id % ${orgs} = o.id - 1`,
  `insert into roles (org_id, email, type, created_at) select id, 'invited-' || id || '-' || n || '@example.com', 'viewer', now() from orgs, generate_series(1, 2) n`,
  `insert into secrets (org_id, name, sealed_value, updated_at) select id, 'SECRET_' || n, 'value ' || n, now() from orgs, generate_series(1, 5) n`,
  `insert into retired_secrets (org_id, name, sealed_value) select id, 'SECRET_' || n, 'old value ' || n from orgs, generate_series(1, 5) n`,
]

const versionRows = (versions: number, orgs: number) => [
  `insert into squids (org_id, name, slot, description, manifest_raw, manifest_current, package_json, image, generation, generations_used,
     api_replicas, api_profile, processor_profile, processors, secret_names, source_hosts, last_deploy, deployed_at, secrets_read_at)
   select case when n <= ${versions / 10} then 1 else n % ${orgs} + 1 end, 'squid-' || n / 4, 'v' || n, 'A squid', ${jsonLiteral(manifest)}, ${jsonLiteral(manifest)}, ${jsonLiteral(packageJson)},
     'image-' || n, 1, 1, 1, 'small', 'small', '["processor"]', '["RPC_URL"]', '["rpc.example.com"]',
     json_build_object('id', n, 'type', 'DEPLOY', 'status', 'OK', 'failed', 'NO', 'running', false), now() - n * interval '1 minute', now() - n * interval '1 minute'
   from generate_series(1, ${versions}) n`,
  `update squids s set sealed_workload = ${workload}`,
  `insert into squid_tags (org_id, squid_name, tag, squid_id) select org_id, name, 'prod', min(id) from squids group by org_id, name`,
  `insert into squid_databases (squid_id, database, role, sealed_password, read_role, sealed_read_password, version, profile, total_bytes, used_bytes, measured_at)
   select id, 'bench_' || id, 'bench_' || id, 'password-' || id, 'bench_' || id || '_ro', 'password-ro-' || id, '18', 'small', 10737418240, 1000000000, now() from squids`,
  `insert into squid_logins (squid_id, workload, container, sealed_password) select id, id || '.1', 'processor', 'password-' || id from squids`,
  `insert into container_states (squid_id, generation, container, state, since, restarts, oom_kills, is_out_of_memory, run, run_ordinal)
   select id, 1, c, 'running', now() - interval '1 day', 0, 0, false, 'run-' || id || c, 0 from squids, ${containers} c`,
  `insert into container_runs (squid_id, generation, container, run, ordinal, started_at, ended_at, exit_code, how)
   select id, 1, c, 'run-' || id || c || n, n, now() - n * interval '1 day', now(), 1, 'error' from squids, ${containers} c, generate_series(1, 5) n`,
  `insert into processor_states (squid_id, generation, processor, current_block, total_blocks, blocks_per_second, sync_ratio, progressed_at, head_moved_at, scraped_at, chain)
   select id, 1, 'processor', 1000000, 1000000, 10, 1, now(), now(), now(), 'devnet' from squids`,
  `insert into processor_sources (squid_id, generation, processor, sentence) select id, 1, 'processor', 'Its node does not respond.' from squids where id % 50 = 0`,
  `insert into api_states (squid_id, generation, container, is_available, since) select id, 1, 'api', true, now() from squids`,
  `insert into gateways (id, seen_at) values ('gateway-1', now()), ('gateway-2', now())`,
  `insert into gateway_routes (squid_id, gateway, generation) select s.id, g.id, 1 from squids s, gateways g`,
]

const deployments = [
  // Few are old enough to be deleted, since the job that deletes them takes a transaction for each.
  `insert into uploads (id, org_id, sha256, bytes, created_at, received_at)
   select gen_random_uuid(), org_id, md5(s.id || '-' || n), 100000, now() - case when s.id <= 40 then n else 0 end * interval '1 day', now()
   from squids s, generate_series(1, 3) n where s.id % 4 = 0`,
  `insert into deployments (org_id, squid_id, squid_name, squid_slot, type, status, request_key, upload_id, image, created_at, updated_at, finished_at)
   select org_id, s.id, name, slot, 'DEPLOY', 'OK', 'key-' || s.id || '-' || n, null, image, now() - n * interval '10 days', now(), now() - n * interval '10 days'
   from squids s, generate_series(1, 5) n order by n desc, md5(s.id::text)`,
  `update deployments d set upload_id = u.id from uploads u where u.sha256 = md5(d.squid_id || '-' || substring(d.request_key, '-(\\d)$'))`,
  `insert into deployment_steps (deployment_id, seq, status, started_at, finished_at)
   select id, n, 'IMAGE_BUILDING', now(), now() from deployments, generate_series(1, 5) n`,
  `insert into deployment_files (deployment_id, content) select id, '\\x${emptyFileList}' from deployments where type = 'DEPLOY'`,
  `insert into deployment_logs (deployment_id, seq, at, severity, message)
   select id, n, now(), 'info', 'line ' || n from deployments, generate_series(1, 8) n`,
  `insert into images (image, org_id, bytes, built_at) select image, org_id, 100000000, now() - interval '2 days' from squids`,
  `insert into images (image, org_id, bytes, built_at) select 'unused-' || id, org_id, 100000000, now() - interval '20 days' from squids where id % 100 = 0`,
  `insert into squid_images (squid_id, deployment_id, image, manifest_raw, manifest_current, package_json, bytes, created_at)
   select s.id, d.id, s.image, s.manifest_raw, s.manifest_current, s.package_json, 100000000, d.created_at
   from squids s join deployments d on d.squid_id = s.id and d.request_key like '%-1'`,
]

const logs = [
  `insert into log_lines (squid_id, seq, at, level, container, message)
   select id, n, now() - (30 - n) * interval '1 minute', 2, 'processor', n || ' / 21000000, rate: 12 blocks/sec' from squids, generate_series(1, 30) n`,
  `insert into log_streams (squid_id, last_seq, indexed_seq) select id, 30, 20 from squids`,
  `insert into log_blocks (squid_id, first_seq, last_seq, min_at, max_at, level_mask, containers, bloom)
   select id, n * 10 + 1, n * 10 + 10, now() - (30 - n * 10) * interval '1 minute', now() - (20 - n * 10) * interval '1 minute', 4, '{processor}', decode(repeat('ff', 4096), 'hex')
   from squids, generate_series(0, 1) n`,
  `insert into log_cursors (source, position) select 'source-' || id, '1' from squids`,
]

const histogram = `array(select case when i between 30 and 60 then 7 else 0 end from generate_series(1, 100) i)`

/** Number and interval of the buckets in the tables of each level. */
const levels = {
  samples: { count: 200, every: '1 minute' },
  minutes: { count: 150, every: '5 minutes' },
  hours: { count: 48, every: '1 hour' },
  days: { count: 60, every: '1 day' },
  months: { count: 6, every: '1 month' },
}
type Level = keyof typeof levels
/** SQL condition of the versions with metrics: only every tenth, but over a long period, so that most rows of each table are older than the rows that a statement needs. */
const hasMetrics = 'squids.id % 10 = 1'

function bucket(level: Level): string {
  const start = level === 'samples' ? 'now()' : `date_trunc('${level.slice(0, -1)}', now(), 'UTC')`
  return `${start} - n * interval '${levels[level].every}'`
}

function metrics(): string[] {
  const container = (level: Level) =>
    `insert into container_${level} (squid_id, at, container, observed_seconds, cpu_seconds, cpu_limit_seconds, throttled_seconds, memory_byte_seconds,
       memory_peak_bytes, memory_limit_bytes, oom_kills, crashes, disk_used_bytes, disk_total_bytes, blocks, last_block, chain_height)
     select id, ${bucket(level)}, c, 15, 1, 15, 0, 1e9, 1e8, 1e9, 0, 0, 1e9, 1e10, 10, 1e6, 1e6
     from generate_series(${levels[level].count}, 1, -1) n, squids, ${meteredResources} c where ${hasMetrics}`
  const ingress = (level: Exclude<Level, 'samples'>) =>
    `insert into ingress_${level} (squid_id, at, successes, errors, success_bytes, error_bytes, histogram)
     select id, ${bucket(level)}, 100, 1, 1e6, 1e3, ${histogram} from generate_series(${levels[level].count}, 1, -1) n, squids where ${hasMetrics}`
  return [
    ...(['samples', 'minutes', 'hours', 'days', 'months'] as const).map(container),
    ...(['minutes', 'hours', 'days', 'months'] as const).map(ingress),
    `insert into metric_rollups (family, rolled_until) select unnest(array['container', 'ingress']), date_trunc('minute', now())`,
    `insert into sampler_state (sampled_at) values (now())`,
    `insert into sampled_counters (squid_id, generation, container, at, oom_kills, crashes, last_block) select id, 1, c, now(), 0, 0, 1000000 from squids, ${meteredResources} c`,
  ]
}

const rpc = [
  `insert into rpc_tokens (org_id, hash, sealed, created_at) select id, md5('rpc' || id), 'token-' || id, now() from orgs where id <> 2`,
  `insert into rpc_usage (org_id, chain, method, version, hour, requests, failures)
   select org_id, 'ethereum', m, min(id)::text, date_trunc('hour', now()) - h * interval '1 hour', 1000, 1
   from squids, unnest(array['eth_call', 'eth_getLogs', 'eth_getBlockByNumber']) m, generate_series(0, 71) h group by org_id, m, h`,
  `insert into portal_usage (dataset, version, hour, requests, bytes)
   select 'ethereum-mainnet', id::text, date_trunc('hour', now()) - h * interval '1 hour', 10, 1000000 from squids, generate_series(0, 9) h`,
  `insert into quota_usage (org_id, quota, month, used) select id, 'rpc', (date_trunc('month', now()) - n * interval '1 month')::date, 1000 from orgs, generate_series(0, 5) n`,
  `insert into chain_heads (chain, head_block, moved_at, observed_at) select 'chain-' || n, 1000000, now(), now() from generate_series(1, 50) n`,
]

const alerts = [
  `insert into alert_rules (org_id, kind, is_enabled, threshold) select id, 'STALLED', true, 10 from orgs`,
  // The programs of filled versions do not respond: these rules would open an alert for each of them, each in a transaction.
  `insert into alert_rules (org_id, kind, is_enabled, threshold) select id, kind, id % 50 = 3, null
   from orgs, unnest(array['SOURCE_SILENT', 'API_DOWN']) kind`,
  `insert into alert_channels (org_id, type, name, sealed_url, is_enabled, created_at) select id, 'webhook', 'Webhook ' || n, 'http://127.0.0.1:9/' || id, id = 3, now() from orgs, generate_series(1, 2) n`,
  `insert into alert_events (org_id, kind, severity, squid_id, squid_name, squid_slot, container, label, reason, started_at, ended_at)
   select org_id, 'STALLED', 'CRITICAL', id, name, slot, 'processor', name || '@' || slot, 'It does not progress.', now() - n * interval '1 day',
     case when n = 1 and id % 100 = 0 then null else now() - n * interval '1 day' end
   from squids, generate_series(1, 4) n order by n desc, md5(id::text)`,
  `insert into alert_deliveries (org_id, channel_id, event_id, what, label, body, status, created_at)
   select e.org_id, c.id, e.id, 'OPENED', e.label, '{}', 'DELIVERED', e.started_at from alert_events e join alert_channels c on c.org_id = e.org_id and c.name = 'Webhook 1' order by e.id`,
  `insert into alert_mutes (org_id, kind, until, created_by) select id, 'LAGGING', now() + interval '1 day', 'user' from orgs`,
  `insert into audit_log (at, action, user_id, org_id, subject) select now() - n * interval '1 day', 'squids.restart', s.id % 1000 + 1, org_id, name from squids s, generate_series(1, 10) n`,
  `insert into mails ("to", subject, sealed_body, created_at) select 'user-' || n || '@example.com', 'Mail', '{"text": "", "html": ""}', now() from generate_series(1, 1000) n`,
]

const maintenances = `insert into maintenances (message, starts_at, ends_at, announced_at)
  values ('We replace a disk.', now() + interval '1 day', now() + interval '25 hours', now())`

/** The tables that are partitioned by day, each with the number of past days for which the statements above insert rows. */
const partitioned = {
  log_lines: 1,
  container_samples: 1,
  container_minutes: 1,
  container_hours: 3,
  ingress_minutes: 1,
  ingress_hours: 3,
}

/**
 * Fills an empty database with the rows of an installation of `versions` versions: organizations, users, deployments, observations,
 * logs, metrics, usage, alerts, status pages, domains and a maintenance. Sealed columns are in plain text, for an app whose sealer
 * stores values in plain text.
 */
export async function fillInstallation(pool: Pool, versions: number): Promise<void> {
  const orgs = Math.max(6, Math.round(versions / versionsPerOrg))
  const client = await pool.connect()
  try {
    await client.query('set synchronous_commit = off')
    for (const [table, daysBack] of Object.entries(partitioned))
      for (let day = 0; day <= daysBack; day++) await client.query(createPartition(table, day))
    const parts = [
      orgAndUserRows(orgs),
      versionRows(versions, orgs),
      deployments,
      logs,
      metrics(),
      rpc,
      billing,
      billingStates(orgs),
      alerts,
      statusPages,
      domains,
      maintenances,
      catalogs,
    ]
    for (const statement of parts.flat()) await client.query(statement)
    await client.query('vacuum analyze')
  } finally {
    client.release(true)
  }
}

const createPartition = (
  table: string,
  daysBack: number,
) => `do $$ declare day date := (now() at time zone 'UTC')::date - ${daysBack}; begin
  execute format('create table if not exists ${table}_%s partition of ${table} for values from (%L) to (%L)',
    to_char(day, 'YYYYMMDD'), day || ' 00:00Z', (day + 1) || ' 00:00Z'); end $$`
