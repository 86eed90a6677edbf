import { z } from 'zod'
import { postgresSettings } from './database-settings.ts'
import { registrySettings } from './registry-settings.ts'
import { retentionSettings } from './retention-settings.ts'
import { runtimeSettings } from './runtime-settings.ts'
import { s3Settings } from './s3-settings.ts'
import { flag, serviceSettings } from './service-settings.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const roles = ['api', 'worker', 'gateway'] as const

/** Zero, which disables a limit, or a whole number. */
const zeroOrAtLeast = (minimum: number) =>
  z.coerce.number().pipe(z.union([z.literal(0), z.number().int().min(minimum)]))

/** All settings with their defaults and descriptions for operators. `docs/operate.md` is generated from them. */
export const settings = {
  SHOAL_PORT: port.default(4000).describe('Port of the console and the API.'),
  SHOAL_GATEWAY_PORT: port.default(4001).describe('Port of the gateway, which serves squids.'),
  SHOAL_HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'Address that both ports listen on; with the default also on ::1. Put a TLS proxy in front before you expose it, or set SHOAL_TLS.',
    ),
  SHOAL_HEALTH_PORT: port
    .optional()
    .describe(
      'Port for `/healthz`, `/readyz` and `/metrics` of this process, on loopback. Unset: 4002, or a free port if that is taken, in a process that has only the `worker` role; none in others.',
    ),
  SHOAL_HEALTH_HOST: z.string().default('127.0.0.1').describe('Address of this port. Probes of pods need `0.0.0.0`.'),
  SHOAL_PUBLIC_URL: z.url().optional().describe('Public URL of the console. Default: `http://localhost:<SHOAL_PORT>`.'),
  SHOAL_GATEWAY_URL: z
    .string()
    .optional()
    .describe(
      'Public URL of squids; may contain `{org}`, as in `https://{org}.squids.example.com`. Default: `http://localhost:<SHOAL_GATEWAY_PORT>/{org}`.',
    ),
  SHOAL_DATA_DIR: z
    .string()
    .default('.shoal')
    .describe('Directory of the files of Shoal: embedded Postgres, uploads, images, keys.'),
  ...postgresSettings,
  ...runtimeSettings,
  SHOAL_SANDBOX: z
    .enum(['auto', 'none'])
    .default('auto')
    .describe(
      'Isolation of squids from this host: `auto` uses bubblewrap if it works, and logs a warning at startup otherwise; `none` disables it.',
    ),
  SHOAL_NETWORK: z
    .enum(['auto', 'uids', 'none'])
    .default('auto')
    .describe(
      'Networks of squids and builds: `auto` gives each its own network if this host supports it, or restricts it by rules for its user, and logs a warning at startup otherwise; `uids` uses such rules in any case; `none` disables both (see `docs/security.md`).',
    ),
  SHOAL_NETWORK_ALLOW: z
    .string()
    .default('')
    .describe(
      'Targets that squids and builds may reach in addition to the public internet: IPv4 addresses, CIDRs or names, each with or without a port, separated by commas, as in `10.1.2.3:8545,10.2.0.0/16`. Loopback addresses need a port.',
    ),
  SHOAL_ALLOW_SHARED_NETWORK: flag
    .default(false)
    .describe(
      'Let several organizations deploy although squids share the host’s network (see `docs/security.md`). Set this only if all of them trust each other. `npm start` sets it.',
    ),
  SHOAL_ROLES: z
    .string()
    .default('api,worker,gateway')
    .transform((v) => v.split(',').map((r) => r.trim()))
    .pipe(z.array(z.enum(roles)).min(1))
    .describe('Roles of this process: any of `api`, `worker`, `gateway`, separated by commas.'),
  SHOAL_ON_EXIT: z
    .enum(['stop', 'keep'])
    .default('keep')
    .describe('What happens to running squids when the server exits: `keep` or `stop`.'),
  SHOAL_DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(3_600)
    .default(20)
    .describe(
      'How long a server that shuts down waits for the requests in progress. It accepts no new connections during that time.',
    ),
  SHOAL_SECRETS_KEY: z
    .string()
    .optional()
    .describe(
      'Keys that seal secrets, each 32 bytes in base64, separated by commas: the first one seals, all of them open. Unset: a file in SHOAL_DATA_DIR.',
    ),
  SHOAL_CA_FILE: z
    .string()
    .optional()
    .describe(
      'File with certificates in PEM of private authorities that Shoal trusts in addition to the public ones; see “Private certificate authorities”.',
    ),
  SHOAL_TRUST_PROXY: flag.default(false).describe('Trust `X-Forwarded-For` and `-Proto` of the proxy in front.'),
  SHOAL_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe("Level of the server's own log."),
  SHOAL_MAX_UPLOAD_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .max(5_000_000_000)
    .default(100_000_000)
    .describe('Maximum size of the archive of a squid.'),
  SHOAL_ORG_ARCHIVES_MB: z.coerce
    .number()
    .int()
    .min(0)
    .default(5_000)
    .describe('Maximum size of all archives that an organization sends in a day; 0 does not limit it.'),
  ...s3Settings,
  ...registrySettings,
  SHOAL_BUILDS_AT_ONCE: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Maximum number of concurrent builds.'),
  SHOAL_BUILD_MEMORY_MB: z.coerce.number().int().min(256).default(3072).describe('Memory limit of one build.'),
  SHOAL_BUILD_MINUTES: z.coerce.number().positive().default(30).describe('Maximum time of one build.'),
  SHOAL_DISK_RESERVE_PERCENT: z.coerce
    .number()
    .min(0)
    .max(50)
    .default(5)
    .describe(
      'Deployments are refused while less than this share of the disk of SHOAL_DATA_DIR is free; 0 never refuses them.',
    ),
  SHOAL_CONTAINER_DISK_MB: zeroOrAtLeast(64)
    .default(4096)
    .describe(
      'Disk space for the files that each program of a squid writes, from its next deployment on; 0 does not limit it. See `docs/security.md`.',
    ),
  SHOAL_BUILD_DISK_MB: zeroOrAtLeast(256)
    .default(8192)
    .describe(
      'Disk space of one build, and of the downloads that builds of an organization share; 0 does not limit it.',
    ),
  SHOAL_BUILD_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .default(10_000)
    .describe(
      'Size of the cache of installed dependencies; 0 disables it. When it is full, the organization that uses most loses its least recently used dependencies.',
    ),
  SHOAL_IMAGES_KEPT: z.coerce
    .number()
    .int()
    .min(1)
    .default(3)
    .describe('Number of images of a version to keep for rollbacks.'),
  SHOAL_LOG_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .default(14)
    .describe('How long the logs of squids are kept.'),
  SHOAL_LOG_KB_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(1000)
    .describe(
      'Rate limit for the log of each version in kilobytes per second; up to ten seconds’ worth may be written in a burst. Further lines are dropped, with a remark in the log. 0: unlimited.',
    ),
  SHOAL_LOG_LINES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(1000)
    .describe('The same limit in lines per second. 0: unlimited.'),
  SHOAL_LOG_ORG_KB_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(5000)
    .describe(
      'Rate limit for the logs of all versions of an organization together in kilobytes per second, with the same burst. 0: unlimited.',
    ),
  SHOAL_LOG_ORG_LINES_PER_SECOND: z.coerce
    .number()
    .int()
    .min(0)
    .default(5000)
    .describe('The same limit in lines per second. 0: unlimited.'),
  SHOAL_LOG_MB_PER_DAY: z.coerce
    .number()
    .min(0)
    .default(1000)
    .describe(
      'Quota for the log of each version in megabytes per UTC day, including 120 bytes for each line. Further lines are dropped, with a remark in the log. 0: unlimited.',
    ),
  SHOAL_LOG_ORG_MB_PER_DAY: z.coerce
    .number()
    .min(0)
    .default(5000)
    .describe('The same quota for the logs of all versions of an organization together. 0: unlimited.'),
  ...retentionSettings,
  SHOAL_METRICS_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      "Bearer token (`Authorization: Bearer …`) that gives access to the server's own `/metrics`. Unset: the page does not exist.",
    ),
  ...serviceSettings,
} satisfies Record<string, z.ZodType>
