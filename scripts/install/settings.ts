type Settings = Record<string, string>

/**
 * Returns the existing settings with the changes. Unless the user sets it, SHOAL_TRUST_PROXY follows from the others: with an https URL
 * and without SHOAL_TLS, a proxy in front serves the public addresses, since the service listens only on loopback.
 */
export function combineSettings(existing: Settings, changes: Settings): Settings {
  const combined = { ...existing, ...changes }
  if ('SHOAL_TRUST_PROXY' in changes || !('SHOAL_PUBLIC_URL' in changes || 'SHOAL_TLS' in changes)) return combined
  const hasTls = (combined['SHOAL_TLS'] ?? 'off') !== 'off'
  const isBehindProxy = !hasTls && combined['SHOAL_PUBLIC_URL']?.startsWith('https:') === true
  if (!isBehindProxy && !('SHOAL_TRUST_PROXY' in existing)) return combined
  return { ...combined, SHOAL_TRUST_PROXY: String(isBehindProxy) }
}
