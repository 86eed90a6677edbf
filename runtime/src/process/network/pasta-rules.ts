import { readFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type LoopbackService, type Policies, PRIVATE_RANGES } from './addresses.ts'
import type { NetworkUse } from './network.ts'
import { REJECT, allowedTargets, blockOf, innerRules } from './rules.ts'

/** All networks have the same addresses, because no packet passes between them. */
const block = blockOf(0)
const INDEX = 1
export const PASTA_ADDRESS = block.addressOf(INDEX)
export const PASTA_GATEWAY = block.gateway

/**
 * The host's UDP ports for packets of programs. No services listen on them. They are half of the ports from which the kernel usually
 * chooses source ports, since a program may use all of them.
 */
const UDP_PORTS = '32768-46883'

const isResolver = ({ protocols }: LoopbackService) => protocols.includes('udp')

/** Returns the arguments of pasta that depend on what programs may reach. */
export function pastaArguments(use: NetworkUse, policies: Policies): string {
  const { loopback } = policies[use]
  const ports = new Set(loopback.filter((service) => !isResolver(service)).map(({ port }) => port))
  const services = `--tcp-ns ${ports.size > 0 ? [...ports].join(',') : 'none'}`
  return loopback.some(isResolver) ? `${services} --dns-forward ${PASTA_GATEWAY}` : services
}

const privateRanges = new BlockList()
for (const range of PRIVATE_RANGES) {
  const [address = '', bits] = range.split('/')
  privateRanges.addSubnet(address, Number(bits))
}

/** Returns the public IPv4 addresses and ranges of this host, in a fixed order. */
export function publicAddresses(): string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const interfaceAddresses = addresses
    .filter(({ family, address }) => family === 'IPv4' && !privateRanges.check(address))
    .map(({ address }) => address)
  return [...new Set([...interfaceAddresses, ...publicAddressesIn(readFileSync('/proc/net/fib_trie', 'utf8'))])].sort()
}

/**
 * Returns the public addresses and ranges that the kernel's routes assign to this host. These include the addresses of interfaces without
 * a link, which `networkInterfaces` omits.
 */
export function publicAddressesIn(routes: string): string[] {
  const found: string[] = []
  let table = ''
  let address = ''
  for (const line of routes.split('\n')) {
    table = /^(\w.*):$/.exec(line)?.[1] ?? table
    address = /\|-- (\S+)$/.exec(line)?.[1] ?? address
    const bits = /^\s+\/(\d+) \S+ LOCAL\b/.exec(line)?.[1]
    // Other tables apply only to some packets.
    if (bits === undefined || !['Main', 'Local'].includes(table) || privateRanges.check(address)) continue
    found.push(bits === '32' ? address : `${address}/${bits}`)
  }
  return found
}

/**
 * Returns the nftables rules inside a network, which replace earlier ones. `addresses`: the public addresses of the host. pasta
 * itself connects to everything that the server's user can reach, except loopback, so only these rules restrict programs.
 */
export function pastaRules(use: NetworkUse, policies: Policies, addresses: string[]): string {
  const resolvers = policies[use].loopback.filter(isResolver)
  // pasta listens inside the network on the ports of all other services.
  const redirected = innerRules(block, INDEX, { loopback: resolvers, remote: [] }, policies)
  return `${redirected}add table inet shoal
delete table inet shoal
table inet shoal {
  set private { type ipv4_addr; flags interval; elements = { ${PRIVATE_RANGES.join(', ')} } }
  chain output {
    type filter hook output priority filter; policy accept;
    oifname "lo" accept
    meta nfproto != ipv4 ${REJECT}
    ${[
      ...(resolvers.length > 0 ? [`ip daddr ${PASTA_GATEWAY} meta l4proto { tcp, udp } th dport 53 accept`] : []),
      ...allowedTargets(use, policies),
      ...(addresses.length > 0 ? [`ip daddr { ${addresses.join(', ')} } ${REJECT}`] : []),
    ].join('\n    ')}
    ip daddr @private ${REJECT}
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname "lo" accept
    ct state != { established, related } drop
  }
  # pasta sends UDP from the source port of the program, which could occupy the port of a service of the host.
  chain choose_source_port {
    type nat hook postrouting priority srcnat - 1; policy accept;
    oifname != "lo" meta l4proto udp masquerade to :${UDP_PORTS} fully-random
  }
}
`
}
