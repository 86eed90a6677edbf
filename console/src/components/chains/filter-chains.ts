/** Fields that chains and datasets share. */
export type ChainListItem = { id: string; title: string; iconUrl: string | null; type: string; testnet: boolean }

const typeLabels: Record<string, string> = { evm: 'EVM', substrate: 'Substrate' }

/** Display name of a type: `EVM`, `Solana`, or `Hyperliquid fills` for `hyperliquidFills`. */
export function typeLabel(type: string): string {
  const words = type.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return typeLabels[type] ?? words.charAt(0).toUpperCase() + words.slice(1)
}

/** The types of the items: first those of the specification, then the others by name. */
export const typesOf = (items: readonly ChainListItem[]): string[] =>
  [...new Set([...Object.keys(typeLabels), ...items.map(({ type }) => type).sort()])].filter((type) =>
    items.some((item) => item.type === type),
  )

/**
 * Returns the items whose title or id contains the text, ignoring case, and whose type is selected. If no type is
 * selected, all types match.
 */
export function filterChains<T extends ChainListItem>(
  items: readonly T[],
  search: string,
  types: readonly string[],
): T[] {
  const text = search.trim().toLowerCase()
  return items.filter(
    ({ id, title, type }) =>
      (types.length === 0 || types.includes(type)) && (id.includes(text) || title.toLowerCase().includes(text)),
  )
}
