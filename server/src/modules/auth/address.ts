import { isIPv6 } from 'node:net'

/** The unit for counting attempts: an IPv4 address, or the /64 of an IPv6 address, which one customer controls. */
export function addressBlock(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped) return mapped
  if (!isIPv6(ip)) return ip
  // The URL parser writes every IPv6 address in its one canonical form.
  const canonical = new URL(`http://[${ip.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = head.split(':').filter(Boolean)
  const tailGroups = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? 0 : 8 - groups.length - tailGroups.length
  return `${[...groups, ...Array<string>(zeros).fill('0'), ...tailGroups].slice(0, 4).join(':')}::/64`
}
