import { z } from 'zod'
import { warningKinds } from './alert-rules.ts'
import { deploymentFailures, deploymentStatuses, deploymentTypes } from './deployments.ts'
import { Id, Time } from './fields.ts'

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
  /** `currentBlock` is −1 before the first block. */
  syncState: z.object({ currentBlock: z.number(), totalBlocks: z.number() }),
  /** Public URL of the processor's Prometheus metrics. */
  metrics: z.string(),
  blocksPerSecond: z.number().nullable(),
  etaSeconds: z.number().nullable(),
  /** When `currentBlock` last increased. */
  progressedAt: Time.nullable(),
  restarts: z.number(),
  reason: z.string().nullable(),
  /** When the processor entered this status; null if unknown. */
  since: Time.nullable(),
  /**
   * Distance to the head of its chain. The head comes from the nodes of Shoal's RPC gateway (`rpc`) if the processor's environment
   * names one of the gateway's chains, otherwise from the processor's own metrics (`processor`). The lag is null before the first block
   * and while the processor is not running.
   */
  lag: z
    .object({
      /** `head` − `currentBlock`, plus an estimate of the blocks since then while the processor is STALLED and no node reports the head. */
      blocks: z.number(),
      /** The time that the chain needs to produce this many blocks; null if its block rate is unknown. */
      seconds: z.number().nullable(),
      /** The highest known block. */
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
  /** True for the first two minutes after its programs started, unless it responds or has crashed since. */
  isStarting: z.boolean().optional(),
  /** When the API became unavailable; null while it is available, or if unknown. */
  since: Time.nullable(),
})

const Hasura = Api.omit({ since: true })

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

/** Until the first measurement, both sizes are 0 and the status is UNKNOWN, because the public client does not accept null. */
export const Disk = z.object({ usageStatus: z.enum(diskUsageStatuses), usedBytes: z.number(), totalBytes: z.number() })

export const SquidAlert = z.object({
  kind: z.enum(warningKinds),
  label: z.string(),
  severity: z.enum(['WARNING', 'CRITICAL']),
  /** The cause, and how to fix it. */
  reason: z.string(),
  since: Time.nullable(),
})

const DeploymentState = z.object({
  id: Id,
  type: z.enum(deploymentTypes),
  status: z.enum(deploymentStatuses),
  /** The kind of failure; `NO`: the deployment has not failed. The public client uses this name. */
  failed: z.enum(deploymentFailures),
  /** True if the version runs the code of this deployment, even if a later step failed. */
  isSwitched: z.boolean().optional(),
})

export const Squid = z.object({
  id: Id,
  name: z.string(),
  slot: z.string(),
  /** `name@slot`. */
  reference: z.string(),
  /** Same as `reference`: spec 3 has both. */
  fullName: z.string(),
  description: z.string().nullable(),
  tags: z.array(z.object({ name: z.string() })),
  manifest: z.object({ current: z.record(z.string(), z.unknown()), raw: z.string() }),
  packageJson: z.record(z.string(), z.unknown()),
  /** Always 4: clients may rely on canonical URLs (spec 2.9). The public client uses this name. */
  spec: z.number(),
  status: z.enum(squidStatuses),
  /** The image that the version runs; null before the first successful deployment. */
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
    /** Part of the public client's interface; Shoal rejects manifests that request it. */
    neon: z.object({ connections: z.array(Connection) }).optional(),
    /** Present if the manifest has the addon, which some installations offer. */
    hasura: Hasura.optional(),
  }),
  scale: z.object({ isDedicated: z.boolean(), processorProfile: z.enum(profiles) }),
  alerts: z.array(SquidAlert),
  lastDeploy: DeploymentState.extend({
    running: z.boolean(),
    /** If this deployment only changed tags: the failed deployment before it. */
    failedBefore: DeploymentState.optional(),
  }).nullish(),
  organization: z.object({ id: Id, name: z.string().nullable(), code: z.string() }),
  links: z.object({ cloudUrl: z.string(), dockerImageUrl: z.string().nullable() }),
  createdAt: Time,
  deployedAt: Time.nullable(),
  hibernatedAt: Time.nullable(),
})
export type Squid = z.infer<typeof Squid>

/** The fields that lists of versions need: without `manifest` and `packageJson`, which make up most of the size. */
export const SquidSummary = Squid.pick({
  id: true,
  name: true,
  slot: true,
  reference: true,
  tags: true,
  status: true,
  lastDeploy: true,
  createdAt: true,
  deployedAt: true,
  hibernatedAt: true,
}).extend({
  api: Api.pick({ status: true, urls: true, reason: true, isStarting: true, since: true }).optional(),
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
    hasura: Hasura.pick({ status: true, isStarting: true }).optional(),
  }),
})
export type SquidSummary = z.infer<typeof SquidSummary>
