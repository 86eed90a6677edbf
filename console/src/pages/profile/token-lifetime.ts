const dayMs = 86_400_000

/** Spec 5: how long a token may live; none is the default. */
export const lifetimes = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '60', label: '60 days' },
  { value: '90', label: '90 days' },
  { value: 'none', label: 'No expiration' },
] as const
export type Lifetime = (typeof lifetimes)[number]['value']

/** An ISO time, or null for a token that stays good. */
export function expiresAt(lifetime: Lifetime, nowMs: number = Date.now()): string | null {
  return lifetime === 'none' ? null : new Date(nowMs + Number(lifetime) * dayMs).toISOString()
}
