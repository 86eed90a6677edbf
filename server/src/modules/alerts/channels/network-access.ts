import ipaddr from 'ipaddr.js'
import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector } from 'undici'

/** The address is one of the server's own network, which strangers must not reach through it. */
export class PrivateAddress extends Error {
  override name = 'PrivateAddress'
}

export type NetworkAccess = {
  /** Resolves names as `dns.lookup` does with `all`. */
  lookup: (host: string, done: (error: Error | null, addresses: LookupAddress[]) => void) => void
  allowsPrivate: boolean
}

export const systemNetwork = (allowsPrivate: boolean): NetworkAccess => ({
  lookup: (host, done) => systemLookup(host, { all: true }, done),
  allowsPrivate,
})

/**
 * True for what is routed in the public internet; false for loopback, private, link-local (where clouds keep their metadata),
 * unique-local, shared, multicast, documentation and reserved ranges, for IPv4 inside of IPv6, and for what is no address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  // Of IPv6 only 2000::/3 is given out; the library calls all unicast that it has no other name for.
  if (address instanceof ipaddr.IPv6 && (address.parts[0] ?? 0) >> 13 !== 1) return false
  return address.range() === 'unicast'
}

/** Whether the URL itself says that it leads nowhere public. Names are only resolved when they are connected to. */
export function isPrivateUrl(url: URL): boolean {
  const host = bareHost(url.hostname)
  return isIP(host) ? !isPublicAddress(host) : /(^|\.)localhost\.?$/.test(host)
}

/**
 * An agent for one request. Names are resolved once, and what was checked is what is connected to: a name that changes its
 * address in between gains nothing. Fails with `PrivateAddress`.
 */
export function agentFor({ lookup, allowsPrivate }: NetworkAccess): Agent {
  const isRefused = (address: string) => !allowsPrivate && !isPublicAddress(address)
  const checkedLookup: LookupFunction = (host, options, done) => {
    lookup(host, (error, addresses) => {
      const [first] = addresses ?? []
      if (error || !first) done(error ?? new Error(`No address for ${host}`), '')
      else if (addresses.some(({ address }) => isRefused(address))) done(new PrivateAddress(), '')
      else if (options.all) done(null, addresses)
      else done(null, first.address, first.family)
    })
  }
  const connect = buildConnector({ lookup: checkedLookup, allowH2: false })
  return new Agent({
    // Node asks no lookup about what is an address already.
    connect: (options, done) => {
      const host = bareHost(options.hostname)
      if (isIP(host) && isRefused(host)) done(new PrivateAddress(), null)
      else connect(options, done)
    },
  })
}

const bareHost = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')
