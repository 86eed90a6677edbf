import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'
import type { NetworkTarget, NetworkUse, NetworkTargets } from './network.ts'

/**
 * IPv4 ranges that are not on the public internet (IANA's special-purpose registry): private networks, link-local addresses with
 * the metadata services of clouds, loopback, measurement, multicast and reserved ones. Addresses for documentation are omitted, since
 * they are not routed.
 */
export const PRIVATE_RANGES = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** A service on this host's loopback, which programs reach at the same address and port as on the host. */
export type LoopbackService = {
  address: string
  port: number
  protocols: ('tcp' | 'udp')[]
  showsClient: boolean
  isLimited?: boolean
}
/** An address or range outside of the host; `port` null: every port and protocol. */
export type RemoteTarget = { cidr: string; port: number | null; isLimited?: boolean }

/** Targets of one use, with names resolved to addresses. */
export type Policy = { loopback: LoopbackService[]; remote: RemoteTarget[] }
export type Policies = Record<NetworkUse, Policy> & { dns: Dns }

/** `servers`: programs can reach these DNS servers. `replaced`: servers that only the host can reach, which are replaced with another server for programs. */
export type Dns = { servers: string[]; replaced: { address: string; replacement: string }[] }

/**
 * Resolves the names of targets and adds the host's DNS servers. Skips names without an IPv4 address, to which programs could not
 * connect anyway.
 */
export async function resolvePolicies(targets: NetworkTargets): Promise<Policies> {
  const { dns, local } = nameServers()
  const [squid, build] = await Promise.all([policyOf(targets.squid), policyOf(targets.build)])
  for (const policy of [squid, build]) policy.loopback.push(...local)
  return { squid, build, dns }
}

/** Returns the addresses of targets that are not on loopback. Skips names without an IPv4 address. */
export const resolveTargets = async (targets: NetworkTarget[]): Promise<RemoteTarget[]> =>
  (await policyOf(targets)).remote

async function policyOf(targets: NetworkTarget[]): Promise<Policy> {
  const policy: Policy = { loopback: [], remote: [] }
  for (const { host, port, showsClient = false, isLimited } of targets) {
    const limited = isLimited ? { isLimited } : {}
    for (const cidr of await addressesOf(host)) {
      if (!isLoopback(cidr)) policy.remote.push({ cidr, port, ...limited })
      else if (port !== null)
        policy.loopback.push({ address: LOOPBACK, port, protocols: ['tcp'], showsClient, ...limited })
    }
  }
  return policy
}

async function addressesOf(host: string): Promise<string[]> {
  if (host === 'localhost') return [LOOPBACK]
  if (isIPv6(host.replace(/^\[(.*)\]$/, '$1'))) return []
  if (isIPv4(host.split('/')[0] ?? '')) return [host]
  const addresses = await lookup(host, { all: true, family: 4 }).catch(() => [])
  return addresses.map(({ address }) => address)
}

const LOOPBACK = '127.0.0.1'
const isLoopback = (address: string) => address.startsWith('127.')

/** Lists the upstream servers of systemd-resolved, whose own address, 127.0.0.53, accepts only queries from loopback. */
const RESOLVED = '/run/systemd/resolve/resolv.conf'

function nameServers(): { dns: Dns; local: LoopbackService[] } {
  const listed = serversIn('/etc/resolv.conf')
  const upstream = serversIn(RESOLVED).filter((address) => !isLoopback(address))
  const [replacement] = upstream
  const local = listed.filter((address) => isLoopback(address))
  const servers = listed.filter((address) => !isLoopback(address))
  if (local.length > 0 && replacement !== undefined)
    return {
      dns: { servers: [...servers, ...upstream], replaced: local.map((address) => ({ address, replacement })) },
      local: [],
    }
  const services = local
    .slice(0, 1)
    .map((address): LoopbackService => ({ address, port: 53, protocols: ['tcp', 'udp'], showsClient: false }))
  return { dns: { servers, replaced: [] }, local: services }
}

/** Returns the IPv4 DNS servers that a file in the format of resolv.conf(5) lists. */
function serversIn(file: string): string[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    const listed = lines.map((line) => /^nameserver\s+(\S+)/.exec(line.trim())?.[1])
    return listed.filter((address) => address !== undefined && isIPv4(address)) as string[]
  } catch {
    return []
  }
}

/**
 * Parses the targets that an operator allows: addresses, CIDRs or names, each optionally with `:port`, separated by commas.
 * @throws Error with a sentence that names the invalid part
 */
export function parseTargets(text: string): NetworkTarget[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter(Boolean).map(parseTarget)
}

function parseTarget(part: string): NetworkTarget {
  const [, host = '', portText] = /^([^:[\]]+?)(?::(\d{1,5}))?$/.exec(part) ?? []
  const port = portText === undefined ? null : Number(portText)
  const [address = '', bits] = host.split('/')
  const isAddress = isIPv4(address) && (bits === undefined || (/^\d{1,2}$/.test(bits) && Number(bits) <= 32))
  const isName = bits === undefined && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(address) && !/^[\d.]+$/.test(address)
  if ((!isAddress && !isName) || (port !== null && (port < 1 || port > 65_535)))
    throw new Error(`"${part}" is not an IPv4 address, CIDR or name, with or without a port`)
  if (port === null && (address === 'localhost' || isLoopback(address)))
    throw new Error(`"${part}" needs a port: addresses of loopback are allowed one port at a time`)
  return { host, port }
}
