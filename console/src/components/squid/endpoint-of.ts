import type { SquidSummary } from '@shoal/contract'

/** The preferred API URL of a version: that of the production tag, of another tag, or of the slot; null without an API. */
export function endpointOf({ api }: Pick<SquidSummary, 'api'>): string | null {
  const urls = api?.urls ?? []
  const tagged = urls.filter(({ type }) => type === 'tag')
  const isProduction = ({ name }: (typeof urls)[number]) => name === 'prod' || name === 'production'
  const best = tagged.find(isProduction) ?? tagged[0] ?? urls.find(({ type }) => type === 'canonical')
  return best?.url ?? null
}
