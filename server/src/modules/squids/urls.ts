import type { SquidUrl } from '@shoal/contract'
import type { z } from 'zod'
import { gatewayUrlOf, type Config } from '../../config/config.ts'

/** The parts of a version's URLs. */
export type UrlParts = { orgCode: string; name: string; slot: string; tags: string[] }

const base = (config: Pick<Config, 'gatewayUrl'>, { orgCode, name }: Pick<UrlParts, 'orgCode' | 'name'>) =>
  `${gatewayUrlOf(config, orgCode)}/${name}`

/** The GraphQL URLs of a version: one for each of its tags, the legacy alias of the tag `prod`, and one for its slot (contract 5). */
export function apiUrls(config: Pick<Config, 'gatewayUrl'>, of: UrlParts): z.infer<typeof SquidUrl>[] {
  const tagUrls = of.tags.map((tag) => ({
    type: 'tag' as const,
    name: tag,
    url: `${base(config, of)}:${tag}/api/graphql`,
  }))
  const alias = of.tags.includes('prod') ? [{ type: 'prod_alias' as const, url: `${base(config, of)}/graphql` }] : []
  return [...tagUrls, ...alias, { type: 'canonical', url: graphqlUrl(config, of) }]
}

/** The canonical GraphQL URL, by slot: it never changes. */
export const graphqlUrl = (config: Pick<Config, 'gatewayUrl'>, of: Omit<UrlParts, 'tags'>): string =>
  `${base(config, of)}@${of.slot}/api/graphql`

/** The path at which the gateway serves an api, by slot: the prefix that the api must add to its own paths. */
export const apiPath = (config: Pick<Config, 'gatewayUrl'>, of: Omit<UrlParts, 'tags'>): string =>
  new URL(`${base(config, of)}@${of.slot}/api`).pathname

/** The public address of a processor's metrics (contract 5). */
export const metricsUrl = (config: Pick<Config, 'gatewayUrl'>, of: UrlParts, processor: string): string =>
  `${base(config, of)}@${of.slot}/processors/${processor}/metrics`

/** The version's page in the console, in its organization (spec 2.2). */
export const consoleUrl = (config: Pick<Config, 'publicUrl'>, { orgCode, name, slot }: UrlParts): string =>
  `${config.publicUrl}/squids/${name}/${slot}?organization=${orgCode}`
