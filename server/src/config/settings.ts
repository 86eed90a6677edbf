import { z } from 'zod'

const port = z.coerce.number().int().min(0).max(65_535)
const flag = z.enum(['true', 'false', '1', '0', '']).transform((v) => v === 'true' || v === '1')
/** A URL that a page may link to. */
const webUrl = z.url({ protocol: /^https?$/ })
const roles = ['api', 'worker', 'gateway'] as const

/** All settings with their defaults and descriptions for operators. `docs/operate.md` is generated from them. */
export const settings = {
  SHOAL_PORT: port.default(4000).describe('Port of the console and the API.'),
  SHOAL_GATEWAY_PORT: port.default(4001).describe('Port of the gateway, which serves squids.'),
  SHOAL_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address that both ports listen on. Put a TLS proxy in front before you expose it.'),
  SHOAL_HEALTH_PORT: port
    .optional()
    .describe(
      'Loopback port for `/healthz`, `/readyz` and `/metrics` of this process. Unset: 4002, or a free port if that is taken, in a process that has only the `worker` role; none in others.',
    ),
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
  DATABASE_URL: z
    .string()
    .optional()
    .describe('A Postgres of version 14 or newer for the control plane and the squids. Unset: an embedded Postgres.'),
  SHOAL_POSTGRES_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(100)
    .max(10_000)
    .default(400)
    .describe(
      'Maximum number of connections of the embedded Postgres, from its next start on. A squid keeps about 7 open. For an external Postgres, set its `max_connections`.',
    ),
  SHOAL_SQUIDS_DATABASE_URL: z
    .string()
    .optional()
    .describe(
      'A separate Postgres for the databases of squids; its role must be able to create roles and databases. Default: the Postgres of the control plane.',
    ),
  SHOAL_RUNTIME: z
    .enum(['process', 'sim'])
    .default('process')
    .describe('Where squids run: `process` as processes on this host, `sim` only simulated (demos, tests).'),
  SHOAL_SANDBOX: z
    .enum(['auto', 'none'])
    .default('auto')
    .describe(
      'Isolation of squids from this host: `auto` uses bubblewrap if it works, and logs a warning at startup otherwise; `none` disables it.',
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
    .describe('What happens to running squids when the server exits.'),
  SHOAL_DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(3_600)
    .default(20)
    .describe(
      'How long a server that shuts down waits for the requests in progress, while it takes no new connections.',
    ),
  SHOAL_SECRETS_KEY: z
    .string()
    .optional()
    .describe(
      'Keys that seal secrets, each 32 bytes in base64, separated by commas: the first one seals, all of them open. Unset: a file in SHOAL_DATA_DIR.',
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
    .default(100_000_000)
    .describe('Maximum size of the archive of a squid.'),
  SHOAL_BUILDS_AT_ONCE: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe('Maximum number of concurrent builds.'),
  SHOAL_BUILD_MEMORY_MB: z.coerce.number().int().min(256).default(3072).describe('Memory limit of one build.'),
  SHOAL_BUILD_MINUTES: z.coerce.number().positive().default(30).describe('Maximum time of one build.'),
  SHOAL_BUILD_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .default(10_000)
    .describe('Size of the cache of installed dependencies; 0 disables it.'),
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
  SHOAL_METRICS_SAMPLE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .default(1)
    .describe('How long the samples of containers (one every 15 seconds) are kept.'),
  SHOAL_METRICS_MINUTE_DAYS: z.coerce.number().int().min(2).default(8).describe('How long metrics by minute are kept.'),
  SHOAL_METRICS_HOUR_DAYS: z.coerce.number().int().min(2).default(100).describe('How long metrics by hour are kept.'),
  SHOAL_METRICS_DAY_DAYS: z.coerce
    .number()
    .int()
    .min(62)
    .default(800)
    .describe('How long metrics by day are kept; metrics by month are kept forever.'),
  SHOAL_ALERT_DAYS: z.coerce.number().int().min(7).default(90).describe('How long resolved alerts are kept.'),
  SHOAL_DEPLOYMENT_DAYS: z.coerce
    .number()
    .int()
    .min(7)
    .default(365)
    .describe('How long finished deployments are kept, with their logs; the last one of a version stays.'),
  SHOAL_AUDIT_DAYS: z.coerce.number().int().min(30).default(730).describe('How long the audit log is kept.'),
  SHOAL_USAGE_DAYS: z.coerce
    .number()
    .int()
    .min(400)
    .default(800)
    .describe('How long usage by the hour is kept once it is invoiced. Invoices are kept forever.'),
  SHOAL_METRICS_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      "Bearer token (`Authorization: Bearer …`) that gives access to the server's own `/metrics`. Unset: the page does not exist.",
    ),
  SHOAL_MAIL_URL: z
    .string()
    .optional()
    .describe(
      'SMTP server, as `smtps://user:password@host`. Unset: mails are shown on an outbox page under `npm start`.',
    ),
  SHOAL_MAIL_FROM: z.string().default('Shoal <no-reply@localhost>').describe('Sender of mails.'),
  SHOAL_ALERTS_ALLOW_PRIVATE: flag
    .default(false)
    .describe(
      'Allow alerts to webhooks in private networks and on this host. Only if you trust all users who may add a channel.',
    ),
  SHOAL_SUPPORT_EMAIL: z
    .string()
    .default('support@localhost')
    .describe('Address behind Contact support in the console.'),
  SHOAL_TERMS_URL: webUrl
    .optional()
    .describe(
      'Your terms of service, which users accept when they sign up. Unset: the console says that this installation has none.',
    ),
  SHOAL_DOCUMENTATION_URL: webUrl
    .default('https://docs.sqd.dev/')
    .describe('Address behind Documentation in the console; by default the documentation of the SDK.'),
  SHOAL_OUTBOX: flag.default(false).describe('Show unsent mails on a page, on loopback only. Set by `npm start`.'),
  SHOAL_GOOGLE_CLIENT_ID: z.string().optional().describe('Sign in with Google; hidden when unset.'),
  SHOAL_GOOGLE_CLIENT_SECRET: z.string().optional().describe('See SHOAL_GOOGLE_CLIENT_ID.'),
  SHOAL_GITHUB_CLIENT_ID: z.string().optional().describe('Sign in with GitHub; hidden when unset.'),
  SHOAL_GITHUB_CLIENT_SECRET: z.string().optional().describe('See SHOAL_GITHUB_CLIENT_ID.'),
  SHOAL_TURNSTILE_SITE_KEY: z
    .string()
    .optional()
    .describe('Cloudflare Turnstile as bot check. Unset: a built-in proof of work.'),
  SHOAL_TURNSTILE_SECRET_KEY: z.string().optional().describe('See SHOAL_TURNSTILE_SITE_KEY.'),
  SHOAL_RPC_CONFIG: z
    .string()
    .optional()
    .describe(
      'A YAML or JSON file with the nodes of RPC chains; see `docs/rpc.md`. Unset: public nodes of EVM chains.',
    ),
  SHOAL_RPC_RATE: z.coerce
    .number()
    .positive()
    .default(1000)
    .describe('Maximum RPC requests per second of one organization; each call of a batch counts.'),
  SHOAL_RPC_SOCKETS: z.coerce
    .number()
    .int()
    .min(0)
    .default(5000)
    .describe('Maximum WebSocket connections to RPC chains of one gateway; 0 disables them.'),
  SHOAL_RPC_SOCKETS_PER_ORG: z.coerce
    .number()
    .int()
    .min(0)
    .default(100)
    .describe('Maximum of these connections for one organization.'),
  SHOAL_RPC_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .default(1024)
    .describe('Disk cache, in the data directory, for RPC responses that never change; 0 disables it.'),
  SHOAL_DEVNET_URL: z
    .url()
    .optional()
    .describe(
      'A local EVM node to offer as RPC chain and Portal dataset `devnet`. `npm start` uses the one of `npm run devnet`.',
    ),
  SHOAL_PORTAL_URL: z
    .url()
    .optional()
    .describe(
      'The portal whose datasets are offered, such as `https://portal.example.com`. Unset: only datasets of this installation.',
    ),
  SHOAL_PORTAL_CATALOGUE: z
    .string()
    .optional()
    .describe("A list of datasets that replaces the included one, in the format of SQD Network's `metadata.yml`."),
  SHOAL_PRICE_BOOK: z
    .string()
    .optional()
    .describe('A YAML file with prices and taxes; see `docs/billing.md`. Unset: the included prices.'),
  SHOAL_INVOICE_FONT: z
    .string()
    .optional()
    .describe(
      'A font file (TTF, OTF, TTC, WOFF, WOFF2) for characters in names on invoices that the included font lacks, such as Chinese, Japanese or Korean; see `docs/billing.md`.',
    ),
  SHOAL_STRIPE_SECRET_KEY: z
    .string()
    .optional()
    .describe(
      'Charges real cards through Stripe; requires the two settings below. Unset: a test provider that charges no one.',
    ),
  SHOAL_STRIPE_PUBLISHABLE_KEY: z.string().optional().describe('See SHOAL_STRIPE_SECRET_KEY.'),
  SHOAL_STRIPE_WEBHOOK_SECRET: z
    .string()
    .optional()
    .describe('Verifies the events that Stripe sends to `<SHOAL_PUBLIC_URL>/api/v1/billing/stripe-events`.'),
  SHOAL_SENTRY_DSN: z.string().optional().describe('Error reporting of the console. Unset: off.'),
} satisfies Record<string, z.ZodType>
