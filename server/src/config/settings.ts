import { z } from 'zod'

const port = z.coerce.number().int().min(0).max(65_535)
const flag = z.enum(['true', 'false', '1', '0', '']).transform((v) => v === 'true' || v === '1')
/** An address that a page may link to. */
const webUrl = z.url({ protocol: /^https?$/ })
const roles = ['api', 'worker', 'gateway'] as const

/** Every setting, its default and a sentence for operators. `docs/operate.md` is generated from it. */
export const settings = {
  SHOAL_PORT: port.default(4000).describe('Port of the console and the API.'),
  SHOAL_GATEWAY_PORT: port.default(4001).describe('Port of the gateway, where squids answer.'),
  SHOAL_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address both ports listen on. Put a TLS proxy in front before you open it to others.'),
  SHOAL_HEALTH_PORT: port
    .optional()
    .describe(
      'Port on loopback for `/healthz`, `/readyz` and `/metrics` of this process. Unset: 4002, or a free one when that is taken, in a process that has only the `worker` role; none in others.',
    ),
  SHOAL_PUBLIC_URL: z
    .url()
    .optional()
    .describe('Where people reach the console. Default: `http://localhost:<SHOAL_PORT>`.'),
  SHOAL_GATEWAY_URL: z
    .string()
    .optional()
    .describe(
      'Where people reach squids; may hold `{org}`, as in `https://{org}.squids.example.com`. Default: `http://localhost:<SHOAL_GATEWAY_PORT>/{org}`.',
    ),
  SHOAL_DATA_DIR: z
    .string()
    .default('.shoal')
    .describe('Where Shoal keeps its files: embedded Postgres, uploads, images, keys.'),
  DATABASE_URL: z
    .string()
    .optional()
    .describe('A Postgres of version 14 or newer for the control plane and the squids. Unset: an embedded one.'),
  SHOAL_POSTGRES_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(100)
    .max(10_000)
    .default(400)
    .describe(
      'How many connections the embedded Postgres takes, from its next start on. A squid keeps about 7 open. Of an external one, set `max_connections`.',
    ),
  SHOAL_SQUIDS_DATABASE_URL: z
    .string()
    .optional()
    .describe(
      'A Postgres for the databases of squids, its role able to create roles and databases. Default: the same as the control plane.',
    ),
  SHOAL_RUNTIME: z
    .enum(['process', 'sim'])
    .default('process')
    .describe('Where squids run: `process` on this host, `sim` pretends (demos, tests).'),
  SHOAL_SANDBOX: z
    .enum(['auto', 'none'])
    .default('auto')
    .describe(
      'What stands between a squid and this host: `auto` is bubblewrap where it works, and a warning at start where it does not; `none` does without it.',
    ),
  SHOAL_ROLES: z
    .string()
    .default('api,worker,gateway')
    .transform((v) => v.split(',').map((r) => r.trim()))
    .pipe(z.array(z.enum(roles)).min(1))
    .describe('What this process does: any of `api`, `worker`, `gateway`.'),
  SHOAL_ON_EXIT: z
    .enum(['stop', 'keep'])
    .default('keep')
    .describe('What happens to running squids when the server ends.'),
  SHOAL_DRAIN_SECONDS: z.coerce
    .number()
    .min(0)
    .max(3_600)
    .default(20)
    .describe(
      'How long a server that is told to end waits for the requests that are under way. It takes no new connections meanwhile.',
    ),
  SHOAL_SECRETS_KEY: z
    .string()
    .optional()
    .describe(
      'Keys that seal secrets, each 32 bytes in base64, with commas between: the first seals, all open. Unset: a file in SHOAL_DATA_DIR.',
    ),
  SHOAL_TRUST_PROXY: flag.default(false).describe('Believe `X-Forwarded-For` and `-Proto` of the proxy in front.'),
  SHOAL_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe("The server's own log."),
  SHOAL_MAX_UPLOAD_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(100_000_000)
    .describe('Largest archive of a squid.'),
  SHOAL_BUILDS_AT_ONCE: z.coerce.number().int().min(1).max(64).default(2).describe('How many builds run at once.'),
  SHOAL_BUILD_MEMORY_MB: z.coerce.number().int().min(256).default(3072).describe('Memory of one build.'),
  SHOAL_BUILD_MINUTES: z.coerce.number().positive().default(30).describe('Longest build.'),
  SHOAL_BUILD_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .default(10_000)
    .describe('How much of installed dependencies is kept for later builds.'),
  SHOAL_IMAGES_KEPT: z.coerce
    .number()
    .int()
    .min(1)
    .default(3)
    .describe('How many images of a version are kept for rollback.'),
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
    .describe('How long the samples of containers (one each 15 seconds) are kept.'),
  SHOAL_METRICS_MINUTE_DAYS: z.coerce.number().int().min(2).default(8).describe('How long metrics by minute are kept.'),
  SHOAL_METRICS_HOUR_DAYS: z.coerce.number().int().min(2).default(100).describe('How long metrics by hour are kept.'),
  SHOAL_METRICS_DAY_DAYS: z.coerce
    .number()
    .int()
    .min(62)
    .default(800)
    .describe('How long metrics by day are kept; those by month are kept for good.'),
  SHOAL_ALERT_DAYS: z.coerce.number().int().min(7).default(90).describe('How long alerts that ended are kept.'),
  SHOAL_METRICS_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      "Who sends it as `Authorization: Bearer …` may read the server's own `/metrics`. Unset: there is no such page.",
    ),
  SHOAL_MAIL_URL: z
    .string()
    .optional()
    .describe('SMTP server as `smtps://user:password@host`. Unset: mails go to an outbox page under `npm start`.'),
  SHOAL_MAIL_FROM: z.string().default('Shoal <no-reply@localhost>').describe('Sender of mails.'),
  SHOAL_ALERTS_ALLOW_PRIVATE: flag
    .default(false)
    .describe(
      'Alerts may be sent to webhooks in private networks and on this host; only where you trust everybody who may add a channel.',
    ),
  SHOAL_SUPPORT_EMAIL: z.string().default('support@localhost').describe('Where Contact support leads.'),
  SHOAL_TERMS_URL: webUrl
    .optional()
    .describe(
      'Your terms of service, which people accept when they sign up. Unset: the console says that this installation has none.',
    ),
  SHOAL_DOCUMENTATION_URL: webUrl
    .default('https://docs.sqd.dev/')
    .describe("Where Documentation leads; by default to the SDK's."),
  SHOAL_OUTBOX: flag.default(false).describe('Serve unsent mails on a page, on loopback only. Set by `npm start`.'),
  SHOAL_GOOGLE_CLIENT_ID: z.string().optional().describe('Sign in with Google; hidden when unset.'),
  SHOAL_GOOGLE_CLIENT_SECRET: z.string().optional().describe('See SHOAL_GOOGLE_CLIENT_ID.'),
  SHOAL_GITHUB_CLIENT_ID: z.string().optional().describe('Sign in with GitHub; hidden when unset.'),
  SHOAL_GITHUB_CLIENT_SECRET: z.string().optional().describe('See SHOAL_GITHUB_CLIENT_ID.'),
  SHOAL_TURNSTILE_SITE_KEY: z
    .string()
    .optional()
    .describe('Cloudflare Turnstile as bot check; unset: a proof of work of our own.'),
  SHOAL_TURNSTILE_SECRET_KEY: z.string().optional().describe('See SHOAL_TURNSTILE_SITE_KEY.'),
  SHOAL_RPC_CONFIG: z
    .string()
    .optional()
    .describe(
      'A YAML or JSON file with the nodes behind RPC chains; see `docs/rpc.md`. Unset: public nodes of EVM chains.',
    ),
  SHOAL_RPC_RATE: z.coerce
    .number()
    .positive()
    .default(1000)
    .describe('RPC requests a second one organization may make, each call of a batch counted.'),
  SHOAL_RPC_SOCKETS: z.coerce
    .number()
    .int()
    .min(0)
    .default(5000)
    .describe('WebSocket connections to RPC chains that one gateway holds; 0 offers none.'),
  SHOAL_RPC_SOCKETS_PER_ORG: z.coerce
    .number()
    .int()
    .min(0)
    .default(100)
    .describe('Of these, how many one organization may have.'),
  SHOAL_RPC_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .default(1024)
    .describe('Disk for RPC answers that never change, in the data directory; 0 keeps none on disk.'),
  SHOAL_DEVNET_URL: z
    .url()
    .optional()
    .describe(
      'A local EVM node to offer as RPC chain and Portal dataset `devnet`. `npm start` offers the one of `npm run devnet`.',
    ),
  SHOAL_PORTAL_URL: z
    .url()
    .optional()
    .describe(
      'The portal whose datasets are passed on, as in `https://portal.example.com`. Unset: only datasets made here.',
    ),
  SHOAL_PORTAL_CATALOGUE: z
    .string()
    .optional()
    .describe("A list of datasets read instead of the one that ships, in the form of SQD Network's `metadata.yml`."),
  SHOAL_PRICE_BOOK: z
    .string()
    .optional()
    .describe('A YAML file with prices and taxes; see `docs/billing.md`. Unset: the prices that ship.'),
  SHOAL_INVOICE_FONT: z
    .string()
    .optional()
    .describe(
      'A font file (TTF, OTF, TTC, WOFF, WOFF2) for letters in names on invoices that the font which ships does not have, as of Chinese, Japanese or Korean; see `docs/billing.md`.',
    ),
  SHOAL_STRIPE_SECRET_KEY: z
    .string()
    .optional()
    .describe(
      'Charges real cards through Stripe; needs the two settings below. Unset: a test provider charges nobody.',
    ),
  SHOAL_STRIPE_PUBLISHABLE_KEY: z.string().optional().describe('See SHOAL_STRIPE_SECRET_KEY.'),
  SHOAL_STRIPE_WEBHOOK_SECRET: z
    .string()
    .optional()
    .describe('Signs what Stripe sends to `<SHOAL_PUBLIC_URL>/api/v1/billing/stripe-events`.'),
  SHOAL_SENTRY_DSN: z.string().optional().describe('Error reporting of the console; off when unset.'),
} satisfies Record<string, z.ZodType>
