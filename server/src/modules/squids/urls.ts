import type { SquidUrl } from '@shoal/contract'
import type { z } from 'zod'
import { gatewayUrlOf, type Config } from '../../config/config.ts'

/** The parts of a version's URLs. */
export type UrlParts = { orgCode: string; name: string; slot: string; tags: string[] }

const squidUrl = (config: Pick<Config, 'gatewayUrl'>, { orgCode, name }: Pick<UrlParts, 'orgCode' | 'name'>) =>
  `${gatewayUrlOf(config, orgCode)}/${name}`

/** Returns the GraphQL URLs of a version: one for each of its tags, the legacy alias of the tag `prod`, and one for its slot. */
export function apiUrls(config: Pick<Config, 'gatewayUrl'>, parts: UrlParts): z.infer<typeof SquidUrl>[] {
  const tagUrls = parts.tags.map((tag) => ({
    type: 'tag' as const,
    name: tag,
    url: `${squidUrl(config, parts)}:${tag}/api/graphql`,
  }))
  const alias = parts.tags.includes('prod')
    ? [{ type: 'prod_alias' as const, url: `${squidUrl(config, parts)}/graphql` }]
    : []
  return [...tagUrls, ...alias, { type: 'canonical', url: graphqlUrl(config, parts) }]
}

/** Returns the GraphQL URLs of a version's Hasura: one for each of its tags, and one for its slot. */
export const hasuraUrls = (config: Pick<Config, 'gatewayUrl'>, parts: UrlParts): z.infer<typeof SquidUrl>[] => [
  ...parts.tags.map((tag) => ({
    type: 'tag' as const,
    name: tag,
    url: `${squidUrl(config, parts)}:${tag}/hasura/v1/graphql`,
  })),
  { type: 'canonical', url: `${squidUrl(config, parts)}@${parts.slot}/hasura/v1/graphql` },
]

/** The canonical GraphQL URL. It contains the slot and never changes. */
export const graphqlUrl = (config: Pick<Config, 'gatewayUrl'>, parts: Omit<UrlParts, 'tags'>): string =>
  `${squidUrl(config, parts)}@${parts.slot}/api/graphql`

/** Returns the path at which the gateway serves an api. The api must add this path as a prefix to its own paths. */
export const apiPath = (config: Pick<Config, 'gatewayUrl'>, parts: Omit<UrlParts, 'tags'>): string =>
  new URL(`${squidUrl(config, parts)}@${parts.slot}/api`).pathname

/** The public address of a processor's metrics. */
export const metricsUrl = (config: Pick<Config, 'gatewayUrl'>, parts: UrlParts, processor: string): string =>
  `${squidUrl(config, parts)}@${parts.slot}/processors/${processor}/metrics`

/** The URL of the version's page in the console (spec 2.2). */
export const consoleUrl = (config: Pick<Config, 'publicUrl'>, { orgCode, name, slot }: UrlParts): string =>
  `${config.publicUrl}/squids/${name}/${slot}?organization=${orgCode}`
