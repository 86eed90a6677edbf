import ipaddr from 'ipaddr.js'

/**
 * Returns the key under which the requests of an IP address are counted: an IPv4 address, or the /64 block of an IPv6 address, since one
 * customer of a provider controls a whole block. Returns any other text unchanged.
 */
export function addressBlock(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip
  const address = ipaddr.process(ip)
  if (address instanceof ipaddr.IPv4) return address.toString()
  const block = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${block.join(':')}::/64`
}
