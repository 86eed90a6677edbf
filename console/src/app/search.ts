import type { OperatorOrgSort, OperatorSquidSort } from '@shoal/contract'
import { flag, list, oneOf, searchOf, text } from '../lib/search-params.ts'

const order = oneOf('asc', 'desc')

type Reader<T> = (value: unknown) => T | undefined
// The server, not the console, validates these columns: a list of them would make the first view larger.
const orgSort = text as Reader<OperatorOrgSort>
const squidSort = text as Reader<OperatorSquidSort>

/** The parameters that routes read from the query string. */
export const search = {
  guest: searchOf({ organization: text, acceptInviteId: text, email: text }),
  signUp: searchOf({ email: text, turnstileInteractive: text }),
  oauth: searchOf({ code: text, state: text }),
  confirmEmail: searchOf({ code: text, email: text }),
  verifyEmail: searchOf({ code: text }),
  app: searchOf({ organization: text, acceptInviteId: text, inviteKey: text }),
  squids: searchOf({
    search: text,
    status: list,
    tag: list,
    sort: oneOf('name', 'deployedAt'),
    order,
  }),
  secrets: searchOf({ sort: oneOf('name', 'updated'), order }),
  logs: searchOf({
    range: text,
    from: text,
    to: text,
    container: list,
    level: list,
    search: text,
    order,
    line: text,
    build: text,
  }),
  changes: searchOf({ against: text }),
  metrics: searchOf({ range: text, from: text, to: text }),
  playground: searchOf({ endpoint: text }),
  schema: searchOf({ search: text, type: text }),
  monitoring: searchOf({
    timeframe: oneOf('1h', '6h', '12h', '24h', '2d', '7d'),
    from: text,
    to: text,
    container_type: oneOf('all', 'db', 'api', 'processor'),
    tag: list,
    only: text,
  }),
  rpc: searchOf({ search: text, type: list, sortBy: oneOf('name', 'usage') }),
  portalChains: searchOf({ search: text, type: list }),
  settings: searchOf({ emailVerified: oneOf('true', 'false') }),
  operatorOrgs: searchOf({ search: text, state: text, sort: orgSort, order }),
  operatorSquids: searchOf({ search: text, sort: squidSort, order }),
  operatorUsers: searchOf({ search: text }),
  billingUsage: searchOf({ month: text, bySquid: flag }),
}
