import { boolean, index, integer, pgTable, text, time } from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'

/** The account at an ACME authority. */
export const acmeAccounts = pgTable('acme_accounts', {
  directoryUrl: text().primaryKey(),
  sealedKey: text().notNull(),
  createdAt: time().notNull(),
})

/** What an ACME authority expects to find when it verifies that this installation controls a name. Not secret. */
export const acmeChallenges = pgTable(
  'acme_challenges',
  {
    token: text().primaryKey(),
    name: text().notNull(),
    type: text({ enum: ['http-01', 'tls-alpn-01'] }).notNull(),
    keyAuthorization: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [index('acme_challenges_name').on(t.name), ...enumChecks('acme_challenges', t)],
)

/** The names for which this installation maintains a certificate each. */
export const certificates = pgTable(
  'certificates',
  {
    name: text().primaryKey(),
    /** True for a name in the settings of the installation. Once the settings no longer contain it, its certificate is not renewed. */
    isOwn: boolean().notNull(),
    /** The certificate and its chain in PEM; null until the first order has succeeded. */
    chain: text(),
    sealedKey: text(),
    notBefore: time(),
    notAfter: time(),
    /** Failed orders since the last success. */
    failures: integer().notNull().default(0),
    lastError: text(),
    /** When the next order starts: now, after a failure's delay, or when the certificate is due for renewal. */
    nextOrderAt: time().notNull(),
    /** When to request the time of the renewal from the authority again; null until the first order has succeeded. */
    renewalCheckAt: time(),
  },
  (t) => [index('certificates_next_order').on(t.nextOrderAt), index('certificates_renewal_check').on(t.renewalCheckAt)],
)
