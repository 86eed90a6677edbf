import { ranges } from './filters.ts'

type ListKey = 'container' | 'level'
type TextKey = 'search' | 'range' | 'from' | 'to'

/** Filters that can be saved: all but the linked line and the order. */
export type SavedFilter = { [K in ListKey]?: string[] | undefined } & { [K in TextKey]?: string | undefined }

const listKeys: readonly ListKey[] = ['container', 'level']
const textKeys: readonly TextKey[] = ['search', 'range', 'from', 'to']

/** The filters in the URL; null if there are none. Lists are sorted, so that equal filters have equal texts. */
export function savedFilterOf(search: SavedFilter): SavedFilter | null {
  const filter: SavedFilter = {}
  for (const key of listKeys) {
    const values = search[key] ?? []
    if (values.length > 0) filter[key] = values.toSorted()
  }
  for (const key of textKeys) if (search[key]) filter[key] = search[key]
  return Object.keys(filter).length > 0 ? filter : null
}

/** The URL parameters of a saved filter. Those that it does not contain are undefined, so that it replaces all current filters. */
export const searchOfSaved = (filter: SavedFilter): SavedFilter => ({
  ...Object.fromEntries([...listKeys, ...textKeys].map((key) => [key, undefined])),
  ...filter,
})

/** Whether a stored value is a filter that this build can apply. */
export function isSavedFilter(value: unknown): value is SavedFilter {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).every(([key, part]: [string, unknown]) =>
    (listKeys as readonly string[]).includes(key)
      ? Array.isArray(part) && part.every((item) => typeof item === 'string')
      : (textKeys as readonly string[]).includes(key) && typeof part === 'string',
  )
}

/** `eth · Error, Warning · "timeout" · Last hour` */
export function labelOfSaved({ container = [], level = [], search, range, from, to }: SavedFilter): string {
  const sources = container.map((name) => (name === '@build' ? 'Build' : name))
  const levels = level.map((name) => name.slice(0, 1) + name.slice(1).toLowerCase())
  const named = ranges.options.find(({ id }) => id === range)?.label
  const times = from || to ? `${from?.slice(0, 16) ?? '…'} to ${to?.slice(0, 16) ?? '…'} UTC` : named
  return [sources.join(', '), levels.join(', '), search && `"${search.trim()}"`, times].filter(Boolean).join(' · ')
}

/** Whether two filters select the same lines. Their lists must be sorted. */
export const isSameFilter = (a: SavedFilter, b: SavedFilter): boolean => keyOf(a) === keyOf(b)

/** A text that is the same for equal filters. */
export const keyOf = (filter: SavedFilter): string =>
  JSON.stringify([...listKeys, ...textKeys].map((key) => filter[key] ?? null))
