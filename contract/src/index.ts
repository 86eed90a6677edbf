import { alerts } from './alerts.ts'
import { auth } from './auth.ts'
import { billing } from './billing.ts'
import { deployments } from './deployments.ts'
import { domains } from './domains.ts'
import { logs } from './logs.ts'
import { metrics } from './metrics.ts'
import { monitoring } from './monitoring.ts'
import { operators } from './operators.ts'
import { orgs } from './orgs.ts'
import { portal } from './portal.ts'
import { rpc } from './rpc.ts'
import { secrets } from './secrets.ts'
import { squids } from './squids.ts'
import { statusPage } from './status-page.ts'
import { user } from './user.ts'

/** The whole API. Server, client, OpenAPI, permission tests and query keys are derived from this tree. */
export const contract = {
  auth,
  user,
  orgs,
  squids,
  deployments,
  logs,
  metrics,
  monitoring,
  secrets,
  rpc,
  portal,
  billing,
  alerts,
  operators,
  statusPage,
  domains,
}
export type Contract = typeof contract

export * from './alert-labels.ts'
export * from './alert-rules.ts'
export * from './alerts.ts'
export * from './auth.ts'
export * from './billing.ts'
export * from './client.ts'
export * from './costs.ts'
export * from './deployments.ts'
export * from './documentation.ts'
export * from './domains.ts'
export * from './endpoint.ts'
export * from './errors.ts'
export * from './fields.ts'
export * from './limits.ts'
export * from './log-levels.ts'
export * from './logs.ts'
export * from './maintenance.ts'
export * from './metrics.ts'
export * from './monitoring.ts'
export * from './openapi.ts'
export * from './operator-overview.ts'
export * from './operator-payloads.ts'
export * from './operator-sorts.ts'
export * from './operators.ts'
export * from './orgs.ts'
export * from './payments.ts'
export * from './permissions.ts'
export * from './portal.ts'
export * from './receipts.ts'
export * from './rpc.ts'
export * from './secrets.ts'
export * from './squid-payloads.ts'
export * from './squid-status.ts'
export * from './squids.ts'
export * from './status-page.ts'
export * from './token-scope.ts'
export * from './user.ts'
