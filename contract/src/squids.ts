import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Deployment, deploymentFailures, deploymentStatuses, deploymentTypes } from './deployments.ts'
import { Id, SquidName, TagName, Time } from './fields.ts'

export const squidStatuses = ['DEPLOYING', 'DEPLOY_ERROR', 'DEPLOYED', 'HIBERNATED'] as const
export const processorStatuses = ['STARTING', 'SYNCING', 'SYNCED', 'STALLED', 'STUCK', 'UNKNOWN'] as const
export const diskUsageStatuses = ['LOW', 'NORMAL', 'WARNING', 'CRITICAL', 'UNKNOWN'] as const
export const profiles = ['collocated', 'small', 'medium', 'large', 'xlarge', '2xlarge'] as const
export type Profile = (typeof profiles)[number]

export const SquidUrl = z.object({
  url: z.string(),
  type: z.enum(['tag', 'prod_alias', 'canonical']),
  /** The tag's name. */
  name: z.string().optional(),
})

export const Processor = z.object({
  name: z.string(),
  status: z.enum(processorStatuses),
  /** −1 before the first block. */
  syncState: z.object({ currentBlock: z.number(), totalBlocks: z.number() }),
  /** Public address of its Prometheus metrics. */
  metrics: z.string(),
  blocksPerSecond: z.number().nullable(),
  etaSeconds: z.number().nullable(),
  /** When `currentBlock` last moved. */
  progressedAt: Time.nullable(),
  restarts: z.number(),
  reason: z.string().nullable(),
  /** Since when it has this status; null where that was not seen. */
  since: Time.nullable(),
  /**
   * How far behind the head of its chain: as the nodes of our RPC gateway show it (`rpc`) where its environment names one chain of
   * ours, otherwise as it says itself (`processor`). `seconds` is what the chain takes for as many blocks; null until that is known.
   * Null before its first block and while it does not run. While it is STALLED and nothing is known of the head, an estimate: what the
   * chain usually brings in that time.
   */
  lag: z
    .object({
      blocks: z.number(),
      seconds: z.number().nullable(),
      head: z.number(),
      source: z.enum(['rpc', 'processor']),
    })
    .nullable(),
})
export type Processor = z.infer<typeof Processor>

const Api = z.object({
  status: z.enum(['AVAILABLE', 'NOT_AVAILABLE']),
  urls: z.array(SquidUrl),
  replicas: z.number(),
  profile: z.enum(profiles),
  reason: z.string().nullable(),
  /** Since when it is not available; null while it is, and where that was not seen. */
  since: Time.nullable(),
})

const Hasura = Api.omit({ reason: true, since: true })

export const Connection = z.object({
  params: z.object({
    host: z.string(),
    port: z.number(),
    database: z.string(),
    user: z.string(),
    password: z.string(),
  }),
  uri: z.string(),
})

/** Bytes; 0 of 0 and UNKNOWN until the first measurement: the public client needs finite numbers (contract 2.2). */
export const Disk = z.object({ usageStatus: z.enum(diskUsageStatuses), usedBytes: z.number(), totalBytes: z.number() })

export const SquidAlert = z.object({
  label: z.string(),
  severity: z.enum(['WARNING', 'CRITICAL']),
  /** A sentence: why, and what to do. */
  reason: z.string(),
  since: Time.nullable(),
})

export const Squid = z.object({
  id: Id,
  name: z.string(),
  slot: z.string(),
  /** `name@slot`. */
  reference: z.string(),
  fullName: z.string(),
  description: z.string().nullable(),
  tags: z.array(z.object({ name: z.string() })),
  manifest: z.object({ current: z.record(z.string(), z.unknown()), raw: z.string() }),
  packageJson: z.record(z.string(), z.unknown()),
  spec: z.number(),
  status: z.enum(squidStatuses),
  /** What it was built to, and runs; null before the first success. */
  image: z.string().nullable(),
  api: Api.optional(),
  processors: z.array(Processor).optional(),
  addons: z.object({
    postgres: z
      .object({
        connections: z.array(Connection),
        disk: Disk,
        version: z.string(),
        profile: z.enum(profiles),
      })
      .optional(),
    /** Of servers that offer it (contract 2.2); ours refuses manifests that ask for it. */
    neon: z.object({ connections: z.array(Connection) }).optional(),
    /** As with neon. */
    hasura: Hasura.optional(),
  }),
  scale: z.object({ isDedicated: z.boolean(), processorProfile: z.enum(profiles) }),
  alerts: z.array(SquidAlert),
  lastDeploy: z
    .object({
      id: Id,
      type: z.enum(deploymentTypes),
      status: z.enum(deploymentStatuses),
      failed: z.enum(deploymentFailures),
      running: z.boolean(),
    })
    .nullish(),
  organization: z.object({ id: Id, name: z.string().nullable(), code: z.string() }),
  links: z.object({ cloudUrl: z.string(), dockerImageUrl: z.string().nullable() }),
  createdAt: Time,
  deployedAt: Time.nullable(),
  hibernatedAt: Time.nullable(),
})
export type Squid = z.infer<typeof Squid>

/** What a list of versions shows and can do: without their sources, which are most of a version's bytes. */
export const SquidSummary = Squid.pick({
  id: true,
  name: true,
  slot: true,
  reference: true,
  tags: true,
  status: true,
  lastDeploy: true,
  deployedAt: true,
  hibernatedAt: true,
}).extend({
  api: Api.pick({ status: true, urls: true, reason: true, since: true }).optional(),
  processors: z
    .array(
      Processor.pick({
        name: true,
        status: true,
        reason: true,
        since: true,
        syncState: true,
        blocksPerSecond: true,
        etaSeconds: true,
      }),
    )
    .optional(),
  addons: z.object({
    postgres: z.object({ disk: Disk }).optional(),
    hasura: Hasura.pick({ status: true }).optional(),
  }),
})
export type SquidSummary = z.infer<typeof SquidSummary>

/** Contract 2.4. Unknown keys are dropped, never refused. */
export const DeployRequest = z.object({
  artifactUrl: z.string().min(1).max(500),
  manifestPath: z.string().min(1).max(4096).default('squid.yaml'),
  options: z.object({
    hardReset: z.boolean().default(false),
    overrideName: SquidName,
    overrideSlot: z.string().max(20).optional(),
    tag: TagName.optional(),
  }),
})
export type DeployRequest = z.infer<typeof DeployRequest>

/** Up to 200 ids with commas between them: one screen of a list. */
const Ids = z.string().regex(/^\d{1,15}(,\d{1,15}){0,199}$/, 'Up to 200 ids, with commas between them')

const search = { name: z.string().max(100).optional(), search: z.string().max(200).optional() }

export const squids = {
  listMine: endpoint({
    method: 'GET',
    path: '/v1/user/squids',
    access: 'verified',
    summary: 'Versions in all organizations of the caller',
    query: { name: search.name },
    payload: z.array(Squid),
  }),
  list: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids',
    access: 'member',
    summary: 'Versions of the organization, by name and newest first',
    query: search,
    payload: z.array(Squid),
  }),
  listSummaries: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/summaries',
    access: 'member',
    summary: 'The same without manifests and sources, for those who ask often; all of them, or those with these ids',
    query: { ids: Ids.optional() },
    payload: z.array(SquidSummary),
  }),
  get: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}',
    access: 'member',
    summary: 'One version by `name@slot` or `name:tag`',
    payload: Squid,
  }),
  deploy: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/deploy',
    access: 'squids.write',
    summary: 'Deploy an uploaded archive: a new version, or an update of the one in the slot',
    body: DeployRequest,
    payload: Deployment,
  }),
  restart: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/restart',
    access: 'squids.write',
    summary: 'Start anew with the present secrets; wakes a hibernated version',
    payload: Deployment,
  }),
  hibernate: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/hibernate',
    access: 'squids.write',
    summary: 'Stop its programs and keep its data',
    payload: Deployment,
  }),
  rollback: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/rollback',
    access: 'squids.write',
    summary: 'Go back to the image a former deployment brought about',
    body: z.object({ deploymentId: Id }),
    payload: Deployment,
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/squids/{reference}',
    access: 'squids.write',
    summary: 'Delete the version with its database; it cannot be undone',
    payload: Deployment,
  }),
  setTag: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/squids/{reference}/tags/{tag}',
    access: 'squids.write',
    summary: 'Give a tag to the version, taking it from any other of the same name',
    payload: Deployment,
  }),
  removeTag: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/squids/{reference}/tags/{tag}',
    access: 'squids.write',
    summary: 'Take a tag from the version',
    payload: Deployment,
  }),
  exportDatabase: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}/database/export',
    access: 'credentials.read',
    kind: 'file',
    summary: 'Its whole database as a compressed SQL script for psql, also while it is hibernated or payment is due',
    payload: z.null(),
    tooManyAfter: { calls: 20, perMs: 3_600_000 },
  }),
  query: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/graphql',
    access: 'member',
    summary: 'Ask its public GraphQL API, for pages that its own CORS rules keep out',
    isChange: false,
    body: z.object({
      query: z.string().max(200_000),
      variables: z.record(z.string(), z.unknown()).nullish(),
      operationName: z.string().max(500).nullish(),
    }),
    /** What the squid answered, as it is. */
    payload: z.object({ answer: z.record(z.string(), z.unknown()) }),
  }),
}
