const maxDepth = 100

/** The value as Postgres' jsonb can keep it: no NUL, no half of a character, nothing nested without end. */
export function sanitizeForJsonb(value: Record<string, unknown>): Record<string, unknown> {
  return clean(value, 0) as Record<string, unknown>
}

/** The text as Postgres can keep it. */
export const storableText = (text: string): string => text.replaceAll('\0', '').toWellFormed()

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return null
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), clean(item, depth + 1)]))
}
