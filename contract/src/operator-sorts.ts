/** What operators can sort the list of organizations by. */
export const operatorOrgSorts = [
  'name',
  'status',
  'squids',
  'cost',
  'cpu',
  'memory',
  'disk',
  'logs',
  'rpc',
  'created',
] as const
export type OperatorOrgSort = (typeof operatorOrgSorts)[number]

/** What operators can sort the list of squids by. */
export const operatorSquidSorts = ['name', 'organization', 'status', 'cpu', 'memory', 'disk', 'logs', 'rpc'] as const
export type OperatorSquidSort = (typeof operatorSquidSorts)[number]
