const maxDepth = 100

/** The value in a form that jsonb accepts: no NUL, no lone surrogate, limited in depth. */
export function sanitizeForJsonb(value: Record<string, unknown>): Record<string, unknown> {
  return clean(value, 0) as Record<string, unknown>
}

/** The text in a form that Postgres accepts. */
export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), clean(item, depth + 1)]))
}
