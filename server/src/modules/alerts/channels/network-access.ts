import ipaddr from 'ipaddr.js'
import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { callbackify } from 'node:util'
import { Agent, buildConnector } from 'undici'

/** Thrown for an address in a private network, which tenants must not reach through the server. */
export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError'
}

/** How host names are resolved, and whether requests to private addresses are allowed. */
export type NetworkAccess = {
  /** Resolves a name like `dns.lookup` with the option `all`. */
  lookup: (host: string, done: (error: Error | null, addresses: LookupAddress[]) => void) => void
  allowsPrivate: boolean
}

/** Maximum duration of one of the two queries to a DNS server. */
const dnsTimeoutMs = 2_000

/**
 * Resolves names with DNS, or as the operating system does (with `/etc/hosts`) if private addresses are allowed.
 * @param dnsServers addresses of DNS servers; empty: those of the host
 */
export function systemNetwork(allowsPrivate: boolean, dnsServers: readonly string[] = []): NetworkAccess {
  const resolve = callbackify((host: string) => resolveWithDns(host, dnsServers))
  return {
    lookup: (host, done) => (allowsPrivate ? systemLookup(host, { all: true }, done) : resolve(host, done)),
    allowsPrivate,
  }
}

/**
 * The lookups of the operating system occupy threads of the process, so a few names whose DNS does not respond would delay all other
 * lookups of the server.
 */
async function resolveWithDns(host: string, servers: readonly string[]): Promise<LookupAddress[]> {
  if (isLocalhost(host)) return [{ address: '127.0.0.1', family: 4 }]
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  return [
    ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
    ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
  ]
}

const isLocalhost = (host: string): boolean => /(^|\.)localhost\.?$/.test(host)

/**
 * True for addresses that are routed on the public internet; false for loopback, private, link-local (metadata services of clouds),
 * unique-local, shared, multicast, documentation and reserved ranges, for IPv4 inside IPv6, and for text that is not an address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  // Only 2000::/3 of IPv6 is assigned; the library reports every other unknown range as unicast too.
  if (address instanceof ipaddr.IPv6 && (address.parts[0] ?? 0) >> 13 !== 1) return false
  return address.range() === 'unicast'
}

/** Whether the host of the URL is a private address or localhost. Other names are resolved and checked when connecting. */
export function isPrivateUrl(url: URL): boolean {
  const host = withoutBrackets(url.hostname)
  return isIP(host) ? !isPublicAddress(host) : isLocalhost(host)
}

/**
 * Returns an agent for one request. The agent resolves a name once, checks the address, and connects to it, so that DNS cannot return
 * another address for the connection. Requests to private addresses fail with `PrivateAddressError`.
 */
export function agentFor({ lookup, allowsPrivate }: NetworkAccess): Agent {
  const isForbidden = (address: string) => !allowsPrivate && !isPublicAddress(address)
  const checkedLookup: LookupFunction = (host, options, done) => {
    lookup(host, (error, addresses) => {
      const [first] = addresses ?? []
      if (error || !first) done(error ?? new Error(`No address for ${host}`), '')
      else if (addresses.some(({ address }) => isForbidden(address))) done(new PrivateAddressError(), '')
      else if (options.all) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }
  const connect = buildConnector({ lookup: checkedLookup, allowH2: false })
  return new Agent({
    // Node does not call `lookup` for a host that is an IP address.
    connect: (options, done) => {
      const host = withoutBrackets(options.hostname)
      if (isIP(host) && isForbidden(host)) done(new PrivateAddressError(), null)
      else connect(options, done)
    },
  })
}

const withoutBrackets = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')
