import type { SquidUrl } from '@shoal/contract'
import type { z } from 'zod'
import { gatewayUrlOf, type Config } from '../../config/config.ts'

/** What addresses are made of. */
export type UrlParts = { orgCode: string; name: string; slot: string; tags: string[] }

const base = (config: Pick<Config, 'gatewayUrl'>, { orgCode, name }: Pick<UrlParts, 'orgCode' | 'name'>) =>
  `${gatewayUrlOf(config, orgCode)}/${name}`

/** Where a version answers GraphQL: by each of its tags, by the alias of old that the tag `prod` has, by its slot (contract 5). */
export function apiUrls(config: Pick<Config, 'gatewayUrl'>, of: UrlParts): z.infer<typeof SquidUrl>[] {
  const tagUrls = of.tags.map((tag) => ({
    type: 'tag' as const,
    name: tag,
    url: `${base(config, of)}:${tag}/api/graphql`,
  }))
  const alias = of.tags.includes('prod') ? [{ type: 'prod_alias' as const, url: `${base(config, of)}/graphql` }] : []
  return [...tagUrls, ...alias, { type: 'canonical', url: graphqlUrl(config, of) }]
}

/** By the slot: the one that never changes. */
export const graphqlUrl = (config: Pick<Config, 'gatewayUrl'>, of: Omit<UrlParts, 'tags'>): string =>
  `${base(config, of)}@${of.slot}/api/graphql`

/** The path of an api as the gateway offers it, by the slot: what an api must put before its own paths. */
export const apiPath = (config: Pick<Config, 'gatewayUrl'>, of: Omit<UrlParts, 'tags'>): string =>
  new URL(`${base(config, of)}@${of.slot}/api`).pathname

/** The public address of a processor's metrics (contract 5). */
export const metricsUrl = (config: Pick<Config, 'gatewayUrl'>, of: UrlParts, processor: string): string =>
  `${base(config, of)}@${of.slot}/processors/${processor}/metrics`

/** The version's page in the console, in its organization (spec 2.2). */
export const consoleUrl = (config: Pick<Config, 'publicUrl'>, { orgCode, name, slot }: UrlParts): string =>
  `${config.publicUrl}/squids/${name}/${slot}?organization=${orgCode}`
