const maxDepth = 100

/** Returns a copy that jsonb accepts: without NULs and lone surrogates, and with null for objects and arrays deeper than `maxDepth`. */
export function sanitizeForJsonb(value: Record<string, unknown>): Record<string, unknown> {
  return clean(value, 0) as Record<string, unknown>
}

/** Removes NULs and replaces lone surrogates: Postgres accepts neither. */
export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), clean(item, depth + 1)]))
}
