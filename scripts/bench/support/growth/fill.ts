import { alertKinds } from '../../../../contract/src/index.ts'
import { BEHAVIOUR_VARIABLE, type Workload } from '../../../../runtime/src/index.ts'
import type { WorkerApp } from '../../../../server/src/app.ts'
import { workloadIdOf } from '../../../../server/src/modules/manifest/index.ts'
import { sealWorkload } from '../../../../server/src/modules/versions/index.ts'
import { environment, ordinaryWorkload, versionsPerOrg } from './workload.ts'

/** Code of the first organization, which exists before the first version. */
export const firstOrg = 'growth-0'

const batchSize = 1_000

/** The manifest of an ordinary squid, with its environment. */
const manifest = {
  manifest_version: 'subsquid.io/v0.1',
  name: 'squid',
  description: 'Transfers of the largest tokens. '.repeat(20),
  build: { cmd: ['npm', 'run', 'build'] },
  deploy: {
    env: environment,
    processor: [{ name: 'processor', cmd: ['node', 'lib/main.js'] }],
    api: { cmd: ['npm', 'run', 'api'] },
  },
}
const packageJson = {
  name: 'squid',
  dependencies: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`@subsquid/package-${i}`, `^${i}.0.0`])),
}

/** A processor that has reached the head, and follows one block every twelve seconds. */
const followsHead = {
  sync: { fromBlock: 1_000_000, headBlock: 1_000_000, headBlocksPerSecond: 1 / 12, blocksPerSecond: 1_000 },
  usage: { cpuCores: 0.05, memoryBytes: 75 * 2 ** 20 },
  isServedSeparately: true,
}
const serves = { isServedSeparately: true }

function workloadOf({ id, orgId }: { id: number; orgId: number }): Workload {
  const behaves = (behaviour: object) => ({ [BEHAVIOUR_VARIABLE]: JSON.stringify(behaviour) })
  const identity = { id: workloadIdOf(id, 1), tenant: String(orgId), version: String(id) }
  return ordinaryWorkload(identity, { api: behaves(serves), processor: behaves(followsHead) })
}

/** Inserts the rows of running versions `from + 1` to `to`, as deployments have left them. The worker then starts their programs. */
export async function addVersions({ database: { pool }, sealer }: WorkerApp, from: number, to: number): Promise<void> {
  await pool.query(
    `insert into orgs (code, name, status, squids_limit, created_at)
     select 'growth-' || n, 'Organization ' || n, 'ACTIVE', 100000, now() from generate_series($1::int, $2::int) n on conflict do nothing`,
    [Math.floor(from / versionsPerOrg), Math.ceil(to / versionsPerOrg) - 1],
  )
  // The programs of the simulation end with the server, which would open alerts of all versions.
  await pool.query(
    `insert into alert_rules (org_id, kind, is_enabled) select orgs.id, kind, false from orgs, unnest($1::text[]) kind on conflict do nothing`,
    [alertKinds],
  )
  for (let first = from + 1; first <= to; first += batchSize) {
    const last = Math.min(to, first + batchSize - 1)
    const { rows } = await pool.query<{ id: number; orgId: number }>(
      `insert into squids (org_id, name, slot, description, manifest_raw, manifest_current, package_json, image, generation, generations_used,
         api_replicas, api_profile, processor_profile, processors, last_deploy, deployed_at)
       select orgs.id, 'squid-' || n, 'v1', 'A squid', $3::text, $3::jsonb, $4::jsonb, 'image-' || n, 1, 1, 1, 'small', 'small', '["processor"]',
         json_build_object('id', n, 'type', 'DEPLOY', 'status', 'OK', 'failed', 'NO', 'running', false), now()
       from generate_series($1::int, $2::int) n join orgs on orgs.code = 'growth-' || (n - 1) / ${versionsPerOrg}
       returning id::float8, org_id::float8 as "orgId"`,
      [first, last, JSON.stringify(manifest), JSON.stringify(packageJson)],
    )
    await pool.query(
      `update squids set sealed_workload = sealed from unnest($1::bigint[], $2::text[]) as new (id, sealed) where squids.id = new.id`,
      [rows.map(({ id }) => id), rows.map((row) => sealWorkload(sealer, row.id, workloadOf(row)))],
    )
  }
}
