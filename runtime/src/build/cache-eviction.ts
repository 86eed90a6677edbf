/** An entry of the build cache. `isInUse`: a build uses it, so it cannot be evicted. */
export type EvictableEntry = { dir: string; tenant: string; bytes: number; usedAtMs: number; isInUse: boolean }

/** Entries that were not used for this long, a week, are evicted before all others, whichever tenant they belong to. */
const unusedMs = 7 * 24 * 3_600_000

/**
 * Returns the entries to evict until the cache has at most `maxBytes`: first those that were not used for a week, the least recently used
 * first; then, one after the other, the least recently used entry of the tenant whose entries are largest in total. A tenant therefore
 * keeps at least an equal share of the cache, however much the others store. Exception: entries in use count but cannot be evicted, so
 * concurrent builds of other tenants can exceed the shares of those tenants.
 */
export function chooseEntriesToEvict<T extends EvictableEntry>(
  entries: readonly T[],
  maxBytes: number,
  nowMs: number,
): T[] {
  let excess = entries.reduce((total, { bytes }) => total + bytes, 0) - maxBytes
  const bytesByTenant = new Map<string, number>()
  for (const { tenant, bytes } of entries) bytesByTenant.set(tenant, (bytesByTenant.get(tenant) ?? 0) + bytes)
  const tenantBytes = ({ tenant }: T) => bytesByTenant.get(tenant) ?? 0
  const isOld = ({ usedAtMs }: T) => usedAtMs < nowMs - unusedMs
  const remaining = entries.filter(({ isInUse }) => !isInUse).toSorted((a, b) => a.usedAtMs - b.usedAtMs)
  const evicted: T[] = []
  while (excess > 0 && remaining.length > 0) {
    const next =
      remaining.find(isOld) ??
      remaining.reduce((largest, entry) => (tenantBytes(entry) > tenantBytes(largest) ? entry : largest))
    remaining.splice(remaining.indexOf(next), 1)
    evicted.push(next)
    excess -= next.bytes
    bytesByTenant.set(next.tenant, tenantBytes(next) - next.bytes)
  }
  return evicted
}
