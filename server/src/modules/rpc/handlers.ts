import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { days, minutes } from '../../clock.ts'
import { invalidField, notFound, refuse } from '../../errors.ts'
import type { Handlers, OrgScope } from '../call.ts'
import { chainsOf, iconOf, iconPathOf, listUpstreamStates, watchChain, type Chain } from '../chains/index.ts'
import { parseTime } from '../parse-time.ts'
import { usageByChain, usageByMethod, type HourRange } from './store.ts'
import { replaceRpcToken, rpcTokenOf, rpcUrlOf } from './tokens.ts'

/** Upstreams whose last check is older than this are omitted. */
const maxStateAgeMs = minutes(1)
/** The maximum length of the range of a chart. */
const maxRangeMs = days(400)

export function rpcHandlers(app: App): Handlers<Contract['rpc']> {
  const chains = chainsOf(app)
  return {
    listChains: async ({ org }) => {
      const requestsByChain = await usageByChain(app.db, org.id, app.clock.now())
      return chains.all().map((chain) => presentChain(app, org, chain, requestsByChain))
    },
    getChain: async ({ org, params, query }) => {
      const chain = chains.find(params.id)
      if (!chain) throw notFound('Chain')
      const now = app.clock.now()
      const range = rangeOf(query, now)
      const timeGroup = range.to.getTime() - range.from.getTime() > days(8) ? 'Day' : 'Hour'
      const since = new Date(now.getTime() - maxStateAgeMs)
      const [requestsByChain, states, metrics] = await Promise.all([
        usageByChain(app.db, org.id, now),
        listUpstreamStates(app.db, chain.id, since),
        usageByMethod(app.db, org.id, chain.id, range, timeGroup),
        watchChain(app.db, chain.id),
      ])
      const configured = new Set(chain.upstreams.map((u) => u.name))
      const upstreams = states
        .filter((s) => configured.has(s.upstream))
        .map(({ upstream, ...state }) => ({ name: upstream, ...state }))
      return {
        ...presentChain(app, org, chain, requestsByChain),
        chainId: chain.chainId,
        manifestName: chain.isInManifests ? `${chain.id}.http` : null,
        isConfigured: chain.upstreams.length > 0,
        headBlock: maxOrNull(upstreams.map((u) => u.headBlock)),
        finalizedBlock: maxOrNull(upstreams.map((u) => u.finalizedBlock)),
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
      // Spec 8: the console prefixes the message with "Action is not allowed: ".
      // With PAYMENT_ISSUES the token still works, so it must be possible to replace a leaked one.
      if (org.status !== 'ACTIVE' && org.status !== 'PAYMENT_ISSUES')
        throw refuse(
          'ORGANIZATION_NOT_ACTIVE',
          'Organization is not active. Please make sure your billing information is set up correctly.',
        )
      const token = await replaceRpcToken(app, org.id)
      request.audit({ subject: 'RPC token' })
      return { token }
    },
  }
}

function presentChain(app: App, org: OrgScope, chain: Chain, requestsByChain: Map<string, number>) {
  return {
    id: chain.id,
    title: chain.title,
    iconUrl: chain.iconUrl ?? iconPathOf(chain.title),
    type: chain.type,
    testnet: chain.isTestnet,
    requests: String(requestsByChain.get(chain.id) ?? 0),
    url: rpcUrlOf(app.config, org.code, chain.id),
  }
}

function rangeOf(query: { from?: string | undefined; to?: string | undefined }, now: Date): HourRange {
  const to = query.to ? new Date(parseTime('to', query.to)) : now
  const from = query.from ? new Date(parseTime('from', query.from)) : new Date(to.getTime() - days(7))
  if (from >= to) throw invalidField('from', 'from must be before to')
  if (to.getTime() - from.getTime() > maxRangeMs) throw invalidField('from', 'At most 400 days')
  return { from, to }
}

const maxOrNull = (numbers: (number | null)[]): number | null =>
  numbers.reduce((max, n) => (max === null || (n !== null && n > max) ? n : max), null)
