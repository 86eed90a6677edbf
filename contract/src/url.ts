import type { Endpoint } from './endpoint.ts'

/** Returns the URL of a call, with `@` and `:` unescaped, as the public client sends it. */
export function urlOf(
  endpoint: Pick<Endpoint, 'path'>,
  call: { params?: unknown; query?: unknown },
  baseUrl: string,
): string {
  const params = (call.params ?? {}) as Record<string, string>
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? '')
      .replaceAll('%40', '@')
      .replaceAll('%3A', ':'),
  )
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries((call.query ?? {}) as Record<string, unknown>)) {
    if (Array.isArray(value)) for (const item of value) query.append(`${key}[]`, String(item))
    else if (value !== undefined && value !== null && value !== '') query.set(key, String(value))
  }
  const text = query.toString()
  return `${baseUrl}${path}${text ? `?${text}` : ''}`
}
