import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { days, minutes } from '../../clock.ts'
import { invalidField, notFound, refuse } from '../../errors.ts'
import type { Handlers, OrgScope } from '../call.ts'
import { chainsOf, rpcUrlOf, type Chain } from './chains.ts'
import { iconOf, iconPathOf } from './icon.ts'
import { listUpstreamStates, notify, usageByChain, usageByMethod, type Range } from './store.ts'
import { refreshRpcToken, rpcTokenOf } from './tokens.ts'

/** Notified when a user views a chain; the payload is its id. Gateways then poll the chain's nodes for a while. */
export const rpcWatchChannel = 'shoal_rpc_watch'

/** Upstreams that were not checked for longer are omitted. */
const freshMs = minutes(1)
const maxRangeMs = days(400)

export function rpcHandlers(app: App): Handlers<Contract['rpc']> {
  const chains = chainsOf(app)
  return {
    listChains: async ({ org }) => {
      const used = await usageByChain(app.db, org.id, app.clock.now())
      return (await chains.all()).map((chain) => presentChain(app, org, chain, used))
    },
    getChain: async ({ org, params, query }) => {
      const chain = await chains.find(params.id)
      if (!chain) throw notFound('Chain')
      const now = app.clock.now()
      const range = rangeOf(query, now)
      const timeGroup = range.to.getTime() - range.from.getTime() > days(8) ? 'Day' : 'Hour'
      const since = new Date(now.getTime() - freshMs)
      const [used, states, metrics] = await Promise.all([
        usageByChain(app.db, org.id, now),
        listUpstreamStates(app.db, chain.id, since),
        usageByMethod(app.db, org.id, chain.id, range, timeGroup),
        notify(app.db, rpcWatchChannel, chain.id),
      ])
      const configured = new Set(chain.upstreams.map((u) => u.name))
      const upstreams = states
        .filter((s) => configured.has(s.upstream))
        .map(({ upstream, ...state }) => ({ name: upstream, ...state }))
      return {
        ...presentChain(app, org, chain, used),
        chainId: chain.chainId,
        manifestName: chain.isInManifests ? `${chain.id}.http` : null,
        isConfigured: chain.upstreams.length > 0,
        headBlock: highest(upstreams.map((u) => u.headBlock)),
        finalizedBlock: highest(upstreams.map((u) => u.finalizedBlock)),
        upstreams,
        timeGroup,
        metrics,
      }
    },
    getIcon: async ({ params }) => ({
      contentType: 'image/svg+xml',
      // The icon depends on the title only.
      headers: { 'cache-control': 'public, max-age=604800' },
      body: iconOf(params.title),
    }),
    getToken: async ({ org }) => ({ token: await rpcTokenOf(app, org.id) }),
    createToken: async ({ org, request }) => {
      // Spec 8: the console puts "Action is not allowed: " before it.
      // With PAYMENT_ISSUES the token still works, so it must be possible to replace a leaked one.
      if (org.status !== 'ACTIVE' && org.status !== 'PAYMENT_ISSUES')
        throw refuse(
          'ORGANIZATION_NOT_ACTIVE',
          'Organization is not active. Please make sure your billing information is set up correctly.',
        )
      const token = await refreshRpcToken(app, org.id)
      request.audit({ subject: 'RPC token' })
      return { token }
    },
  }
}

function presentChain(app: App, org: OrgScope, chain: Chain, used: Map<string, number>) {
  return {
    id: chain.id,
    title: chain.title,
    iconUrl: chain.iconUrl ?? iconPathOf(chain.title),
    type: chain.type,
    testnet: chain.isTestnet,
    requests: String(used.get(chain.id) ?? 0),
    url: rpcUrlOf(app.config, org.code, chain.id),
  }
}

function rangeOf(query: { from?: string | undefined; to?: string | undefined }, now: Date): Range {
  const to = query.to ? new Date(query.to) : now
  const from = query.from ? new Date(query.from) : new Date(to.getTime() - days(7))
  if (from >= to) throw invalidField('from', 'from must be before to')
  if (to.getTime() - from.getTime() > maxRangeMs) throw invalidField('from', 'At most 400 days at once')
  return { from, to }
}

const highest = (numbers: (number | null)[]): number | null =>
  numbers.reduce((max, n) => (max === null || (n !== null && n > max) ? n : max), null)
