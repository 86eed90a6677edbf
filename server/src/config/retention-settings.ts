import { z } from 'zod'

/** How long metrics and records are kept. */
export const retentionSettings = {
  SHOAL_METRICS_SAMPLE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .default(1)
    .describe('How long the samples of containers (one every 15 seconds) are kept.'),
  SHOAL_METRICS_MINUTE_DAYS: z.coerce.number().int().min(2).default(8).describe('How long metrics by minute are kept.'),
  SHOAL_METRICS_HOUR_DAYS: z.coerce.number().int().min(2).default(100).describe('How long metrics by hour are kept.'),
  SHOAL_METRICS_DAY_DAYS: z.coerce.number().int().min(62).default(800).describe('How long metrics by day are kept.'),
  SHOAL_METRICS_MONTH_DAYS: z.coerce
    .number()
    .int()
    .min(400)
    .default(3660)
    .describe('How long metrics by month are kept.'),
  SHOAL_ALERT_DAYS: z.coerce.number().int().min(7).default(90).describe('How long ended alerts are kept.'),
  SHOAL_DEPLOYMENT_DAYS: z.coerce
    .number()
    .int()
    .min(7)
    .default(365)
    .describe(
      'How long finished deployments are kept, with their logs; the last deployment of a version is kept as long as the version exists.',
    ),
  SHOAL_AUDIT_DAYS: z.coerce.number().int().min(30).default(730).describe('How long the audit log is kept.'),
  SHOAL_USAGE_DAYS: z.coerce
    .number()
    .int()
    .min(400)
    .default(800)
    .describe(
      'How long hourly usage is kept after it was invoiced, and monthly usage of quotas. Invoices are kept forever, because their numbers have no gaps.',
    ),
  SHOAL_PAYMENT_DAYS: z.coerce
    .number()
    .int()
    .min(400)
    .default(3660)
    .describe(
      'How long attempts to charge an invoice are kept, and the ids of events of the payment provider. Attempts for unpaid invoices are kept until they are paid.',
    ),
}
