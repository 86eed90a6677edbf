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
  /** Public URL of its Prometheus metrics. */
  metrics: z.string(),
  blocksPerSecond: z.number().nullable(),
  etaSeconds: z.number().nullable(),
  /** When `currentBlock` last moved. */
  progressedAt: Time.nullable(),
  restarts: z.number(),
  reason: z.string().nullable(),
  /** Since when it has this status; null if unknown. */
  since: Time.nullable(),
  /**
   * Distance to the head of its chain: measured by the nodes of Shoal's RPC gateway (`rpc`) if its environment names one of its
   * chains, otherwise as the processor reports it (`processor`). `seconds` is the time the chain takes for as many blocks; null until
   * known. Null before its first block and while it is not running. While it is STALLED and the head is unknown, an estimate from
   * the chain's usual block rate.
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
  /** Since when it is not available; null while it is available, and if unknown. */
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

/** Bytes; 0 of 0 and UNKNOWN until the first measurement: the public client needs finite numbers. */
export const Disk = z.object({ usageStatus: z.enum(diskUsageStatuses), usedBytes: z.number(), totalBytes: z.number() })

export const SquidAlert = z.object({
  label: z.string(),
  severity: z.enum(['WARNING', 'CRITICAL']),
  /** The cause, and what to do. */
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
  /** The image it runs; null before the first successful deployment. */
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
    /** Part of the public client's interface; Shoal refuses manifests that request it. */
    neon: z.object({ connections: z.array(Connection) }).optional(),
    /** As for neon. */
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

/** The fields that lists of versions need: without sources, which make up most of a version's size. */
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

/** Sent by the public client. Unknown keys are dropped, not refused. */
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

/** Up to 200 comma-separated ids: one screen of a list. */
const Ids = z.string().regex(/^\d{1,15}(,\d{1,15}){0,199}$/, 'Up to 200 ids, separated by commas')

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
    summary: 'Versions of the organization, by name, newest first',
    query: search,
    payload: z.array(Squid),
  }),
  listSummaries: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/summaries',
    access: 'member',
    summary: 'Versions without manifests and sources, for polling; all of them, or those with the given ids',
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
    summary: 'Restart with the current secrets; wakes a hibernated version',
    payload: Deployment,
  }),
  hibernate: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/hibernate',
    access: 'squids.write',
    summary: 'Stop the programs of a version and keep its data',
    payload: Deployment,
  }),
  rollback: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/rollback',
    access: 'squids.write',
    summary: 'Roll back to the image of an earlier deployment',
    body: z.object({ deploymentId: Id }),
    payload: Deployment,
  }),
  delete: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/squids/{reference}',
    access: 'squids.write',
    summary: 'Delete the version with its database; this cannot be undone',
    payload: Deployment,
  }),
  setTag: endpoint({
    method: 'PUT',
    path: '/v1/orgs/{code}/squids/{reference}/tags/{tag}',
    access: 'squids.write',
    summary: 'Set a tag on the version, removing it from other versions of the squid',
    payload: Deployment,
  }),
  removeTag: endpoint({
    method: 'DELETE',
    path: '/v1/orgs/{code}/squids/{reference}/tags/{tag}',
    access: 'squids.write',
    summary: 'Remove a tag from the version',
    payload: Deployment,
  }),
  exportDatabase: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}/database/export',
    access: 'credentials.read',
    kind: 'file',
    summary: 'The whole database as a compressed SQL script for psql, also while hibernated or while payment is due',
    payload: z.null(),
    rateLimit: { calls: 20, perMs: 3_600_000 },
  }),
  query: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/squids/{reference}/graphql',
    access: 'member',
    summary: "Query the squid's public GraphQL API, for pages that its CORS rules block",
    isChange: false,
    body: z.object({
      query: z.string().max(200_000),
      variables: z.record(z.string(), z.unknown()).nullish(),
      operationName: z.string().max(500).nullish(),
    }),
    /** The squid's response, unchanged. */
    payload: z.object({ answer: z.record(z.string(), z.unknown()) }),
  }),
}
