import { boolean, index, integer, pgTable, text, time } from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'

/** The accounts of this installation at ACME authorities. */
export const acmeAccounts = pgTable('acme_accounts', {
  directoryUrl: text().primaryKey(),
  sealedKey: text().notNull(),
  createdAt: time().notNull(),
})

/** The responses that an ACME authority expects when it verifies that this installation controls a name. Not secret. */
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

/** The names for which this installation orders certificates, with the current certificate of each. */
export const certificates = pgTable(
  'certificates',
  {
    name: text().primaryKey(),
    /**
     * Whether it is a name of the installation itself. No certificate is ordered for such a name if the settings no longer
     * contain it.
     */
    isOwn: boolean().notNull(),
    /** The certificate and its chain in PEM; null until the first order has succeeded. */
    chain: text(),
    sealedKey: text(),
    notBefore: time(),
    notAfter: time(),
    /** The number of failed orders since the last successful one. */
    failures: integer().notNull().default(0),
    lastError: text(),
    /**
     * When the next order starts: immediately for a new name, after a delay if the last order failed, or at the time of the
     * renewal.
     */
    nextOrderAt: time().notNull(),
    /** When the next check of the renewal time at the authority is due; null until the first order has succeeded. */
    renewalCheckAt: time(),
  },
  (t) => [index('certificates_next_order').on(t.nextOrderAt), index('certificates_renewal_check').on(t.renewalCheckAt)],
)
