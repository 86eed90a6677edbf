import type { CorsRules } from './routes-store.ts'

/** The answers to `deploy.cors` of the manifest for one caller; null when the manifest leaves it to the squid (contract 4). */
export function corsHeaders(rules: CorsRules | null, origin: string | undefined): string[] | null {
  if (!rules || rules.enabled === false || Object.keys(rules).length === 0) return null
  if (!origin) return []
  const allowed = list(rules.allow_origin ?? '*')
  const isAny = allowed.includes('*')
  if (!isAny && !allowed.includes(origin)) return ['vary', 'Origin']
  const credentials = rules.allow_credentials === true
  return [
    'access-control-allow-origin',
    isAny && !credentials ? '*' : origin,
    'vary',
    'Origin',
    ...(credentials ? ['access-control-allow-credentials', 'true'] : []),
    ...optional('access-control-expose-headers', rules.expose_headers),
  ]
}

/** What a preflight is told beyond that. */
export function preflightHeaders(rules: CorsRules, requestedHeaders: string | undefined): string[] {
  return [
    'access-control-allow-methods',
    list(rules.allow_methods ?? ['GET', 'POST', 'HEAD', 'OPTIONS']).join(', '),
    ...optional('access-control-allow-headers', rules.allow_headers ?? requestedHeaders),
    ...(rules.max_age ? ['access-control-max-age', String(rules.max_age)] : []),
  ]
}

const list = (value: string | string[]): string[] =>
  (Array.isArray(value) ? value : value.split(',')).map((item) => item.trim())

const optional = (name: string, value: string | string[] | undefined): string[] =>
  value === undefined ? [] : [name, list(value).join(', ')]
