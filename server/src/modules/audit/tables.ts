import { bigId, id, index, jsonb, pgTable, text, time, uuid } from '../../db/columns.ts'

/** Every change with its user, action, time and IP address. A trigger prevents updates, and all deletions except for retention. */
export const auditLog = pgTable(
  'audit_log',
  {
    id: id(),
    at: time().notNull(),
    /** The endpoint's name: `orgs.inviteMember`. */
    action: text().notNull(),
    /** No foreign keys: the log outlives its subjects. */
    userId: bigId(),
    sessionId: uuid(),
    apiTokenId: bigId(),
    orgId: bigId(),
    ip: text(),
    requestId: text(),
    subject: text(),
    params: jsonb(),
    before: jsonb(),
    after: jsonb(),
  },
  (t) => [
    index('audit_log_org').on(t.orgId, t.id),
    index('audit_log_user').on(t.userId, t.id),
    index('audit_log_at').on(t.at),
  ],
)
