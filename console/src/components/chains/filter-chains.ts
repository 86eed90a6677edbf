/** What chains and datasets have in common. */
export type ChainListItem = { id: string; title: string; iconUrl: string | null; type: string; testnet: boolean }

const typeLabels: Record<string, string> = { evm: 'EVM', substrate: 'Substrate' }

/** `EVM`, `Substrate`, `Solana`, `Hyperliquid fills`. */
export function typeLabel(type: string): string {
  const words = type.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return typeLabels[type] ?? words.charAt(0).toUpperCase() + words.slice(1)
}

/** Those of the specification first, the others by name. */
export const typesOf = (items: readonly ChainListItem[]): string[] =>
  [...new Set([...Object.keys(typeLabels), ...items.map(({ type }) => type).sort()])].filter((type) =>
    items.some((item) => item.type === type),
  )

/** Those whose title or id holds the text, in any case, and that are of one of the types; of all types when none is chosen. */
export function filterChains<T extends ChainListItem>(
  items: readonly T[],
  search: string,
  types: readonly string[],
): T[] {
  const wanted = search.trim().toLowerCase()
  return items.filter(
    ({ id, title, type }) =>
      (types.length === 0 || types.includes(type)) && (id.includes(wanted) || title.toLowerCase().includes(wanted)),
  )
}
