import { type LoopbackService, type Policies, type Policy, PRIVATE_RANGES } from './addresses.ts'
import type { NetworkUse } from './network.ts'

/**
 * The range from which networks get their addresses. It is reserved for measurements of network devices, so the internet does not
 * use it, and private networks rarely do.
 */
const POOL = { start: (198 << 24) | (18 << 16), cidr: '198.18.0.0/15' }

/** The address of squids on the host's loopback, on hosts with rules for uids instead of separate networks. */
export const SQUIDS_LOOPBACK_ADDRESS = '127.198.18.1'

/** True if a client's address, as the gateway sees it, is the address of a squid's program, in IPv4 or IPv4-mapped IPv6 form. */
export const isSquidAddress = (address: string): boolean =>
  /^(::ffff:)?198\.1[89]\./.test(address) || address.replace('::ffff:', '') === SQUIDS_LOOPBACK_ADDRESS

/** Number of addresses of each installation. The first is not used, the host has the second, and each network has one of the others. */
const BLOCK_SIZE = 1024
/** The number of blocks in `POOL`. */
export const MAX_INSTALLATIONS = 128
/** Maximum number of networks of one installation at a time. */
export const MAX_NETWORKS = BLOCK_SIZE - 2

/** Returns the names and addresses of an installation. `number`: unique on the host. */
export function blockOf(number: number) {
  const first = POOL.start + number * BLOCK_SIZE
  const id = number.toString(16).padStart(2, '0')
  return {
    cidr: `${dotted(first)}/22`,
    /** The host's address at the end of each pair of interfaces. */
    gateway: dotted(first + 1),
    addressOf: (index: number) => dotted(first + 1 + index),
    table: `shoal-${id}`,
    /** Prefix of the names of all interfaces. */
    prefix: `shl${id}`,
    interfaceOf: (use: NetworkUse, index: number) => `shl${id}${USE_LETTER[use]}${index.toString(16)}`,
  }
}

export type Block = ReturnType<typeof blockOf>

const USE_LETTER: Record<NetworkUse, string> = { squid: 's', build: 'b' }
export const USES: NetworkUse[] = ['squid', 'build']

const dotted = (address: number) => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')

/** Rejects a packet with a reason, so that programs see "no route" or "administratively prohibited" instead of a timeout. */
export const REJECT = 'reject with icmpx type admin-prohibited'

/**
 * Returns the nftables rules of the host for all networks of an installation. They replace those of an earlier server in one
 * transaction. They match interfaces by name, so they do not change when a network is added or removed.
 */
export function hostRules(block: Block, policies: Policies): string {
  const anyInterface = `iifname "${block.prefix}*"`
  const interfacesOf = (use: NetworkUse) => `iifname "${block.prefix}${USE_LETTER[use]}*"`
  return `add table inet ${block.table}
delete table inet ${block.table}
table inet ${block.table} {
  set private { type ipv4_addr; flags interval; elements = { ${PRIVATE_RANGES.join(', ')} } }
  chain check_source {
    type filter hook prerouting priority raw; policy accept;
    ${anyInterface} meta nfproto != ipv4 drop
    ${anyInterface} ip saddr != ${block.cidr} drop
    ${anyInterface} fib saddr . iif oif missing drop
    ${anyInterface} ip daddr 127.0.0.0/8 drop
  }
  chain to_services {
    type nat hook prerouting priority dstnat; policy accept;
    ${USES.flatMap((use) => redirectRules(`${interfacesOf(use)} ip daddr ${block.gateway}`, policies[use])).join('\n    ')}
  }
  chain mask_client {
    type nat hook input priority 100; policy accept;
    ${USES.flatMap((use) => maskRules(interfacesOf(use), policies[use])).join('\n    ')}
  }
  ${USES.map((use) => `chain allowed_${use} {\n    ${allowedTargets(use, policies).join('\n    ')}\n  }`).join('\n  ')}
  chain input {
    type filter hook input priority filter - 5; policy accept;
    ${USES.flatMap((use) => redirectedMatches(interfacesOf(use), policies[use]).map((match) => `${match} accept`)).join('\n    ')}
    ${USES.map((use) => `${interfacesOf(use)} jump allowed_${use}`).join('\n    ')}
    ${anyInterface} ${REJECT}
  }
  chain forward {
    type filter hook forward priority filter - 5; policy accept;
    oifname "${block.prefix}*" ct state established,related accept
    oifname "${block.prefix}*" drop
    ${anyInterface} ct state established,related accept
    ${USES.map((use) => `${interfacesOf(use)} jump allowed_${use}`).join('\n    ')}
    ${anyInterface} ip daddr @private ${REJECT}
  }
  chain output {
    type filter hook output priority filter - 5; policy accept;
    oifname "${block.prefix}*" ct state established,related accept
    oifname "${block.prefix}*" drop
  }
  chain translate_source {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${block.cidr} oifname != "${block.prefix}*" masquerade
  }
}
`
}

function redirectRules(match: string, { loopback }: Policy): string[] {
  return loopback.flatMap(({ address, port, protocols }) =>
    protocols.map((protocol) => `${match} ${protocol} dport ${port} dnat ip to ${address}`),
  )
}

/** Returns the part of a rule that matches packets that `redirectRules` has redirected, but not those redirected by other programs' rules. */
const redirectedMatches = (match: string, { loopback }: Policy): string[] =>
  serviceMatches(loopback).map((service) => `${match} ct status dnat ${service}`)

/** Returns rules that make connections appear to come from loopback, as the access rules of services expect. */
function maskRules(match: string, { loopback }: Policy): string[] {
  const masked = loopback.filter(({ showsClient }) => !showsClient)
  return serviceMatches(masked).map((service) => `${match} ${service} snat ip to 127.0.0.1`)
}

/** Returns the part of a rule that matches packets to a service, for each service and protocol. */
export function serviceMatches(services: LoopbackService[]): string[] {
  return services.flatMap(({ address, port, protocols }) =>
    protocols.map((protocol) => `ip daddr ${address} ${protocol} dport ${port}`),
  )
}

/** Returns the part of a rule that matches queries to a DNS server. */
export const dnsMatch = (address: string) => `ip daddr ${address} meta l4proto { tcp, udp } th dport 53`

/** Returns rules that accept the addresses outside of the host that programs may reach even if they are private. */
export function allowedTargets(use: NetworkUse, policies: Policies): string[] {
  const dns = policies.dns.servers.map((address) => `${dnsMatch(address)} accept`)
  const remote = policies[use].remote.map(
    ({ cidr, port }) => `ip daddr ${cidr} ${port === null ? '' : `tcp dport ${port} `}accept`,
  )
  // An operator's wide range must not include the networks of other versions.
  return [`ip daddr ${POOL.cidr} ${REJECT}`, ...dns, ...remote]
}

/**
 * Returns the rules inside a network, which redirect the addresses and ports of loopback services to the host's end of the pair of
 * interfaces, so that programs use the same addresses as on the host.
 */
export function innerRules(block: Block, index: number, { loopback }: Policy, { dns }: Policies): string {
  const services = serviceMatches(loopback).map((service) => `${service} dnat ip to ${block.gateway}`)
  const resolvers = dns.replaced.map(({ address, replacement }) => `${dnsMatch(address)} dnat ip to ${replacement}`)
  return `add table ip shoal
delete table ip shoal
table ip shoal {
  chain to_services {
    type nat hook output priority -100; policy accept;
    ${[...services, ...resolvers].join('\n    ')}
  }
  chain translate_source {
    type nat hook postrouting priority 100; policy accept;
    oifname "eth0" ip saddr 127.0.0.0/8 snat ip to ${block.addressOf(index)}
  }
}
`
}
