import { flag, list, oneOf, searchOf, text } from '../lib/search-params.ts'

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
    order: oneOf('asc', 'desc'),
  }),
  logs: searchOf({
    range: text,
    from: text,
    to: text,
    container: list,
    level: list,
    search: text,
    order: oneOf('asc', 'desc'),
    line: text,
    build: text,
  }),
  metrics: searchOf({ range: text, from: text, to: text }),
  playground: searchOf({ endpoint: text }),
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
  billingUsage: searchOf({ month: text, bySquid: flag }),
}
