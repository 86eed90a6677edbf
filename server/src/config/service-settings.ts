import { z } from 'zod'
import { tlsSettings } from './tls-settings.ts'

/** A setting that is on or off; an empty value means off. */
export const flag = z.enum(['true', 'false', '1', '0', '']).transform((v) => v === 'true' || v === '1')
/** A URL that a page may link to. */
const webUrl = z.url({ protocol: /^https?$/ })

/** Settings of the services for users: emails, alerts, sign-in, RPC, Portal, billing. */
export const serviceSettings = {
  ...tlsSettings,
  SHOAL_MAIL_URL: z
    .string()
    .optional()
    .describe(
      'SMTP server, as `smtps://user:password@host`. Unset: emails are shown on an outbox page under `npm start`.',
    ),
  SHOAL_MAIL_FROM: z.string().default('Shoal <no-reply@localhost>').describe('Sender of emails.'),
  SHOAL_ALERTS_ALLOW_PRIVATE: flag
    .default(false)
    .describe(
      'Allow webhooks in private networks and on this host. Set this only if you trust all users who may add a channel.',
    ),
  SHOAL_SUPPORT_EMAIL: z
    .string()
    .default('support@localhost')
    .describe('Address that the link “Contact support” of the console opens.'),
  SHOAL_TERMS_URL: webUrl
    .optional()
    .describe('Your terms of service, which users accept when they sign up. Unset: the plain text at `/docs/terms`.'),
  SHOAL_PRIVACY_URL: webUrl.optional().describe('Your privacy notice. Unset: the plain text at `/docs/privacy`.'),
  SHOAL_DOCUMENTATION_URL: webUrl
    .optional()
    .describe(
      'Address that the link “Documentation” of the console opens. Unset: the documentation of this release at `/docs/`.',
    ),
  SHOAL_OUTBOX: flag
    .default(false)
    .describe(
      'Without SHOAL_MAIL_URL: show emails on a page, whose URL the server prints at startup. Set by `npm start`.',
    ),
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
    .describe('Maximum RPC requests per second and organization; each call of a batch counts.'),
  SHOAL_RPC_SOCKETS: z.coerce
    .number()
    .int()
    .min(0)
    .default(5000)
    .describe('Maximum number of WebSocket connections to RPC chains per gateway; 0 disables WebSocket.'),
  SHOAL_RPC_SOCKETS_PER_ORG: z.coerce
    .number()
    .int()
    .min(0)
    .default(100)
    .describe('Maximum number of these connections per organization and gateway.'),
  SHOAL_SQUID_SOCKETS_PER_ORG: z.coerce
    .number()
    .int()
    .min(0)
    .default(2000)
    .describe('Maximum number of WebSocket connections to the squids of one organization per gateway.'),
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
      'A local EVM node to offer as RPC chain and Portal dataset `devnet`. `npm start` uses the node that `npm run devnet` starts.',
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
