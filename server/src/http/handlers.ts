import type { Contract } from '@shoal/contract'
import type { App } from '../app.ts'
import { alertsHandlers } from '../modules/alerts/index.ts'
import { authHandlers } from '../modules/auth/index.ts'
import { billingHandlers } from '../modules/billing/index.ts'
import type { Handlers } from '../modules/call.ts'
import { deploymentsHandlers, squidActionHandlers } from '../modules/deployments/index.ts'
import { domainsHandlers } from '../modules/domains/index.ts'
import { logsHandlers } from '../modules/logs/index.ts'
import { metricsHandlers, monitoringHandlers } from '../modules/metrics/index.ts'
import { operatorsHandlers } from '../modules/operators/index.ts'
import { orgsHandlers } from '../modules/orgs/index.ts'
import { portalHandlers } from '../modules/portal/index.ts'
import { rpcHandlers } from '../modules/rpc/index.ts'
import { secretsHandlers } from '../modules/secrets/index.ts'
import { secretUseHandlers, squidReadHandlers } from '../modules/squids/index.ts'
import { statusPageHandlers } from '../modules/statuspage/index.ts'
import { createUser, userHandlers } from '../modules/user/index.ts'

/**
 * The files that handle the endpoints of each area, relative to `server/src/modules`. `squids` has a second file for the endpoints that
 * deploy or change a version, `alerts` one for channels, and `secrets` one because only the module `squids` knows which versions use a
 * secret.
 */
export const handlerFiles: Record<keyof Contract, string[]> = {
  auth: ['auth/handlers.ts'],
  user: ['user/handlers.ts'],
  orgs: ['orgs/handlers.ts'],
  squids: ['squids/handlers.ts', 'deployments/actions.ts'],
  deployments: ['deployments/handlers.ts'],
  logs: ['logs/handlers.ts'],
  metrics: ['metrics/handlers.ts'],
  monitoring: ['metrics/monitoring/handlers.ts'],
  secrets: ['secrets/handlers.ts', 'squids/secret-uses.ts'],
  rpc: ['rpc/handlers.ts'],
  portal: ['portal/handlers.ts'],
  billing: ['billing/handlers.ts'],
  alerts: ['alerts/handlers.ts', 'alerts/channels/handlers.ts'],
  operators: ['operators/handlers.ts'],
  statusPage: ['statuspage/handlers.ts'],
  domains: ['domains/handlers.ts'],
}

type AllHandlers = { [Area in keyof Contract]: Handlers<Contract[Area]> }

/** Creates the handlers of all endpoints, by area and name. */
export const createHandlers = (app: App): AllHandlers => ({
  auth: authHandlers(app, { createUser }),
  user: userHandlers(app),
  orgs: orgsHandlers(app),
  squids: { ...squidReadHandlers(app), ...squidActionHandlers(app) },
  deployments: deploymentsHandlers(app),
  logs: logsHandlers(app),
  metrics: metricsHandlers(app),
  monitoring: monitoringHandlers(app),
  secrets: { ...secretsHandlers(app), ...secretUseHandlers(app) },
  rpc: rpcHandlers(app),
  portal: portalHandlers(app),
  billing: billingHandlers(app),
  alerts: alertsHandlers(app),
  operators: operatorsHandlers(app),
  statusPage: statusPageHandlers(app),
  domains: domainsHandlers(app),
})
