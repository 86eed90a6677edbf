import type { App } from '../../app.ts'
import { rpcChainOf, rpcVariableName, rpcVariables } from '../rpc/index.ts'
import { databaseVariables, ownerConnection } from '../databases/index.ts'
import type { Contexts, SquidPlan, Variables } from '../manifest/index.ts'
import type { SquidRow } from '../versions/index.ts'

type Addons = Contexts['addons']

/** The values of a version that `${{ … }}` can refer to, in addition to secrets. */
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

/** Returns the version's addons, and the variables they add to its containers. */
export async function readAddons(
  app: App,
  squid: Pick<SquidRow, 'id' | 'orgId'>,
  plan: SquidPlan,
): Promise<{ addons: Addons; variables: Variables }> {
  const postgres = plan.postgres ? await ownerConnection(app, squid.id) : null
  const rpc = plan.rpc.length > 0 ? await rpcVariables(app, squid.orgId, plan.rpc) : {}
  return {
    addons: {
      ...(postgres ? { postgres } : {}),
      rpc: rpcContext(plan.rpc, (name) => rpc[rpcVariableName(name)] ?? ''),
    },
    variables: { ...(postgres ? databaseVariables(postgres) : {}), ...rpc },
  }
}

/** Returns addons with placeholder values, to check before the build that every expression has a value. */
export function placeholderAddons(plan: SquidPlan): Addons {
  const placeholder = 'pending'
  const postgres = {
    host: placeholder,
    port: 5432,
    database: placeholder,
    user: placeholder,
    password: placeholder,
    url: placeholder,
  }
  return { ...(plan.postgres ? { postgres } : {}), rpc: rpcContext(plan.rpc, () => placeholder) }
}

const rpcContext = (endpoints: string[], urlOf: (endpoint: string) => string): Record<string, { http: string }> =>
  Object.fromEntries(endpoints.map((endpoint) => [rpcChainOf(endpoint), { http: urlOf(endpoint) }]))
