import type { App } from '../../app.ts'
import { rpcVariables } from '../rpc/index.ts'
import { databaseVariables, ownerConnection } from '../databases/index.ts'
import type { Contexts, SquidPlan, Variables } from '../manifest/index.ts'
import type { SquidRow } from '../versions/index.ts'

type Addons = Contexts['addons']

/** What `${{ … }}` can name of a version, beside secrets. */
export const contextsOf = (
  orgCode: string,
  squid: Pick<SquidRow, 'id' | 'name' | 'slot'>,
  addons: Addons,
): Contexts => ({
  squid: {
    id: squid.id,
    name: squid.name,
    slot: squid.slot,
    reference: `${squid.name}@${squid.slot}`,
    organization: orgCode,
  },
  addons,
})

/** The version's addons as they are, and the variables they bring into its containers (contract 4.2). */
export async function readAddons(
  app: App,
  squid: Pick<SquidRow, 'id' | 'orgId'>,
  plan: SquidPlan,
): Promise<{ addons: Addons; variables: Variables }> {
  const postgres = plan.postgres ? await ownerConnection(app, squid.id) : null
  const rpc = plan.rpc.length > 0 ? await rpcVariables(app, squid.orgId, plan.rpc) : {}
  return {
    addons: { ...(postgres ? { postgres } : {}), rpc: rpcContext(plan.rpc, (name) => rpc[rpcVariable(name)] ?? '') },
    variables: { ...(postgres ? databaseVariables(postgres) : {}), ...rpc },
  }
}

/** Addons as they will be, to see early whether every expression has a value. */
export function placeholderAddons(plan: SquidPlan): Addons {
  const word = 'pending'
  const postgres = { host: word, port: 5432, database: word, user: word, password: word, url: word }
  return { ...(plan.postgres ? { postgres } : {}), rpc: rpcContext(plan.rpc, () => word) }
}

/** `arbitrum-one.http` is `RPC_ARBITRUM_ONE_HTTP` (contract 4.2). */
const rpcVariable = (endpoint: string) => `RPC_${endpoint.toUpperCase().replaceAll(/[.-]/g, '_')}`

const rpcContext = (endpoints: string[], urlOf: (endpoint: string) => string): Record<string, { http: string }> =>
  Object.fromEntries(endpoints.map((endpoint) => [endpoint.replace(/\.http$/, ''), { http: urlOf(endpoint) }]))
