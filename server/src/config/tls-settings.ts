import { isIP } from 'node:net'
import { z } from 'zod'
import { invalidSettingMessage, InvalidSettingError } from './invalid-setting.ts'

const port = z.coerce.number().int().min(0).max(65_535)

/** Settings with which Shoal serves HTTPS without a proxy in front. */
export const tlsSettings = {
  SHOAL_TLS: z
    .enum(['off', 'acme', 'files'])
    .default('off')
    .describe(
      'What encrypts connections: `off` leaves it to a proxy in front; `acme` orders certificates for the names in SHOAL_PUBLIC_URL and SHOAL_GATEWAY_URL from an ACME authority; `files` uses SHOAL_TLS_CERTIFICATE_FILE. Needs a console and a gateway with different names.',
    ),
  SHOAL_TLS_PORT: port
    .default(443)
    .describe(
      'Port for HTTPS, with SHOAL_TLS. The console, the API and the gateway share it; the name in the request decides which one responds.',
    ),
  SHOAL_TLS_REDIRECT_PORT: port
    .default(80)
    .describe(
      'Port for HTTP, with SHOAL_TLS. It redirects browsers to HTTPS, refuses calls of the API, and responds to the authority’s challenges.',
    ),
  SHOAL_TLS_HOST: z.string().optional().describe('Address that these two ports listen on. Unset: all.'),
  SHOAL_TLS_CERTIFICATE_FILE: z
    .string()
    .optional()
    .describe(
      'PEM file with the certificate for all names, followed by its chain, with SHOAL_TLS=files. It is read again when it changes.',
    ),
  SHOAL_TLS_KEY_FILE: z.string().optional().describe('PEM file with the private key of this certificate.'),
  SHOAL_ACME_DIRECTORY_URL: z
    .url({ protocol: /^https$/ })
    .default('https://acme-v02.api.letsencrypt.org/directory')
    .describe('Directory of the ACME authority. With SHOAL_TLS=acme, you agree to its terms of service.'),
  SHOAL_ACME_EMAIL: z.email().optional().describe('Address that the authority writes to about certificates.'),
  SHOAL_ACME_CA_FILE: z
    .string()
    .optional()
    .describe('PEM file with the root certificate of a private authority’s own server.'),
  SHOAL_ACME_CHALLENGE: z
    .enum(['auto', 'http-01', 'tls-alpn-01'])
    .default('auto')
    .describe(
      'How the authority verifies a name: `http-01` uses port 80, `tls-alpn-01` port 443; `auto` starts with the first and alternates after failures.',
    ),
  SHOAL_DNS_SERVERS: z
    .string()
    .default('')
    .describe(
      'DNS servers that verify the domains of organizations and resolve the webhooks of alerts: IP addresses with or without a port, separated by commas. Unset: those of the host.',
    ),
} satisfies Record<string, z.ZodType>

/** How this installation serves HTTPS. */
export type TlsSettings = {
  /** The name of the console and the API. All other names are the gateway's. */
  consoleName: string
  /** The names that get a certificate from the authority; none with `files`. */
  ownNames: string[]
  source: { kind: 'acme' } | { kind: 'files'; certificateFile: string; keyFile: string }
}

type Values = z.output<z.ZodObject<typeof tlsSettings>> & {
  SHOAL_TRUST_PROXY: boolean
  SHOAL_PUBLIC_URL?: string | undefined
  SHOAL_GATEWAY_URL?: string | undefined
}

/**
 * Returns the settings of HTTPS; null if Shoal does not serve it.
 * @throws InvalidSettingError if a setting contradicts another one, or requires one that is not set
 */
export function parseTlsSettings(values: Values): TlsSettings | null {
  if (values.SHOAL_TLS === 'off') return null
  if (values.SHOAL_TRUST_PROXY)
    throw new InvalidSettingError('SHOAL_TRUST_PROXY must be unset with SHOAL_TLS: clients connect without a proxy.')
  const isAcme = values.SHOAL_TLS === 'acme'
  const consoleName = nameOf('SHOAL_PUBLIC_URL', values.SHOAL_PUBLIC_URL, isAcme)
  // `{org}` is replaced only to parse the URL.
  const hasOrgInName = /^https:\/\/[^/]*\{org\}/.test(values.SHOAL_GATEWAY_URL ?? '')
  const gatewayName = nameOf('SHOAL_GATEWAY_URL', values.SHOAL_GATEWAY_URL?.replaceAll('{org}', 'org'), isAcme)
  if (isAcme && hasOrgInName)
    throw new InvalidSettingError(
      'SHOAL_GATEWAY_URL must have {org} in its path while SHOAL_TLS is "acme", as in https://squids.example.com/{org}: a certificate for all subdomains cannot be ordered. With SHOAL_TLS=files it can be in the name.',
    )
  if (consoleName === gatewayName)
    throw new InvalidSettingError(
      'SHOAL_PUBLIC_URL and SHOAL_GATEWAY_URL must have different names with SHOAL_TLS: squids serve pages, which must not share the console’s origin.',
    )
  if (isAcme) return { consoleName, ownNames: [consoleName, gatewayName], source: { kind: 'acme' } }
  const { SHOAL_TLS_CERTIFICATE_FILE: certificateFile, SHOAL_TLS_KEY_FILE: keyFile } = values
  if (certificateFile === undefined || keyFile === undefined)
    throw new InvalidSettingError(
      'SHOAL_TLS_CERTIFICATE_FILE and SHOAL_TLS_KEY_FILE must both be set, because SHOAL_TLS is "files".',
    )
  return { consoleName, ownNames: [], source: { kind: 'files', certificateFile, keyFile } }
}

function nameOf(setting: string, url: string | undefined, isPublic: boolean): string {
  const parsed = URL.parse(url ?? '')
  const name = parsed?.hostname ?? ''
  const isName = isIP(name.replace(/^\[|\]$/g, '')) === 0 && (!isPublic || /^[^.]+(\.[^.]+)+$/.test(name))
  if (parsed?.protocol === 'https:' && isName) return name
  const allowed = `an https URL${isPublic ? ' with a public name' : ''} while SHOAL_TLS is set`
  throw new InvalidSettingError(invalidSettingMessage(setting, url ?? '', allowed))
}

/** Returns the addresses of DNS servers. @throws InvalidSettingError if a part is not an IP address */
export function parseDnsServers(text: string): string[] {
  const servers = text.split(',').flatMap((part) => part.trim() || [])
  const allowed = 'IP addresses with or without a port, separated by commas'
  for (const server of servers)
    if (isIP(server) === 0 && isIP(server.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')) === 0)
      throw new InvalidSettingError(invalidSettingMessage('SHOAL_DNS_SERVERS', text, allowed))
  return servers
}
