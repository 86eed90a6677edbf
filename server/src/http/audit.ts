import type { App } from '../app.ts'
import type { Actor, AuditNote, OrgScope, Request } from '../modules/call.ts'
import { recordAudit } from '../modules/auth/index.ts'

type AuditedCall = {
  name: string
  call: { request: Request; params: unknown; actor?: Actor; org?: OrgScope }
  note: AuditNote | null
}

/**
 * One row for every change that succeeded, and for every read whose handler says that it changed something (links of mails).
 * The request's body is never written: a handler says what changed, without secrets.
 */
export async function writeAudit(app: App, { name, call, note }: AuditedCall): Promise<void> {
  await recordAudit(app.db, {
    at: app.clock.now(),
    action: name,
    userId: call.actor?.userId ?? note?.userId ?? null,
    sessionId: call.actor?.sessionId ?? null,
    apiTokenId: call.actor?.apiTokenId ?? null,
    orgId: call.org?.id ?? note?.orgId ?? null,
    ip: call.request.ip,
    requestId: call.request.id,
    subject: note?.subject ?? null,
    params: call.params,
    before: note?.before ?? null,
    after: note?.after ?? null,
  })
}
