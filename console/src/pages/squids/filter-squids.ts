import { displayStatus, type SquidSummary, type SquidDisplayStatus } from '@shoal/contract'

export type SquidFilters = { search: string; status: readonly string[]; tag: readonly string[] }

/** Returns the versions that match the search, any of the statuses and all of the tags (spec 2.7). */
export function filterSquids(squids: readonly SquidSummary[], { search, status, tag }: SquidFilters): SquidSummary[] {
  const matchesName = nameMatcher(search)
  const statuses = new Set(status)
  return squids.filter(
    (squid) =>
      matchesName(squid.reference) &&
      (statuses.size === 0 || statuses.has(displayStatus(squid) satisfies SquidDisplayStatus)) &&
      tag.every((name) => squid.tags.some((squidTag) => squidTag.name === name)),
  )
}

/**
 * Returns a function that tests names against a case-insensitive regular expression. An invalid one, such as `a(` while the user types,
 * is matched literally.
 */
export function nameMatcher(search: string): (name: string) => boolean {
  const text = search.trim()
  if (text === '') return () => true
  try {
    const pattern = new RegExp(text, 'i')
    return (name) => pattern.test(name)
  } catch {
    const lowerText = text.toLowerCase()
    return (name) => name.toLowerCase().includes(lowerText)
  }
}

/** All tags in use, sorted, without duplicates. */
export const tagsOf = (squids: readonly SquidSummary[]): string[] =>
  [...new Set(squids.flatMap(({ tags }) => tags.map(({ name }) => name)))].toSorted((a, b) => a.localeCompare(b))
