type Settings = Record<string, string>

/**
 * Returns the existing settings with the changes. If these include SHOAL_PUBLIC_URL or SHOAL_TLS, but not SHOAL_TRUST_PROXY, the latter
 * is computed again, even if the user set it in an earlier installation: an https URL without SHOAL_TLS means that a reverse proxy serves
 * the public addresses. Shoal can trust this proxy, because the service listens only on loopback.
 */
export function combineSettings(existing: Settings, changes: Settings): Settings {
  const combined = { ...existing, ...changes }
  if ('SHOAL_TRUST_PROXY' in changes || !('SHOAL_PUBLIC_URL' in changes || 'SHOAL_TLS' in changes)) return combined
  const hasTls = (combined['SHOAL_TLS'] ?? 'off') !== 'off'
  const isBehindProxy = !hasTls && combined['SHOAL_PUBLIC_URL']?.startsWith('https:') === true
  if (!isBehindProxy && !('SHOAL_TRUST_PROXY' in existing)) return combined
  return { ...combined, SHOAL_TRUST_PROXY: String(isBehindProxy) }
}
