import type { HostLimitation } from '../../driver.ts'
import type { Policy } from './addresses.ts'

/**
 * `open`: maximum number of open connections. `perMinute`: maximum rate of new connections; `burst`: how many may be opened at the
 * same time.
 */
export type ConnectionLimits = { open: number; perMinute: number; burst: number }

/**
 * The default limits of a network. Each connection needs an entry in a table of the host, usually with 262,144 entries. When it is full, no
 * program of the host can connect. An entry remains for two minutes after its connection was closed, although it no longer counts as
 * open, so the rate of new connections is limited, too. A network has about 32,000 entries at most.
 */
export const CONNECTION_LIMITS: ConnectionLimits = { open: 4_096, perMinute: 12_000, burst: 4_096 }

/**
 * The targets to which a network may have only a number of connections: `matches` are the parts of rules that match packets to each,
 * `open` is the maximum number of connections to each.
 */
export type LimitedTargets = { matches: string[]; open: number }

/** Returns the limited targets of a network. `hostAddresses`: the addresses at which its programs reach loopback services of the host. */
export function limitedTargets(
  { loopback, remote }: Policy,
  hostAddresses: string[],
  open: number | undefined,
): LimitedTargets | null {
  if (open === undefined) return null
  const services = loopback
    .filter(({ isLimited }) => isLimited)
    .map(({ port }) => `ip daddr { ${hostAddresses.join(', ')} } tcp dport ${port}`)
  const others = remote.flatMap(({ cidr, port, isLimited }) =>
    isLimited && port !== null ? [`ip daddr ${cidr} tcp dport ${port}`] : [],
  )
  return { matches: [...services, ...others], open }
}

/** Returns the part of a rule that matches a new connection beyond the limit, for each target. */
export const overLimit = (targets: LimitedTargets | null): string[] =>
  (targets?.matches ?? []).map((match) => `${match} ct state new ct count over ${targets?.open}`)

const TABLE = 'ip shoal-limits'

/**
 * Returns the nftables rules inside a network that limit its connections to other hosts, and replace earlier ones. `limits`: null
 * removes them. The limits apply after all other rules, so they count only connections that the other rules allow. With pasta, programs reach
 * services of the host through loopback.
 */
export function limitRules(limits: ConnectionLimits | null, targets: LimitedTargets | null = null): string {
  const removal = `add table ${TABLE}\ndelete table ${TABLE}\n`
  if (!limits) return removal
  return `${removal}table ${TABLE} {
  chain limit_connections {
    type filter hook output priority 10; policy accept;
    ${[...overLimit(targets).map((match) => `${match} jump refuse`), 'oifname "lo" accept'].join('\n    ')}
    ct state new ct count over ${limits.open} jump refuse
    ct state new limit rate over ${limits.perMinute}/minute burst ${limits.burst} packets jump refuse
  }
  # The socket of a program ignores ICMP while it connects, and would try again until its timeout.
  chain refuse {
    meta l4proto tcp reject with tcp reset
    reject with icmp type admin-prohibited
  }
}
`
}

/**
 * Checks that the kernel supports the rules. `load`: loads rules into a network.
 * @returns the limits that networks can have, and a sentence for operators if they can have none
 */
export async function findSupportedLimits(
  limits: ConnectionLimits,
  load: (rules: string) => Promise<unknown>,
): Promise<{ limits: ConnectionLimits | null; limitation: HostLimitation | null }> {
  try {
    await load(limitRules(limits))
    return { limits, limitation: null }
  } catch {
    const limitation =
      'The kernel of this host cannot count connections (nft_connlimit): a squid can use up the connections of this host.'
    return { limits: null, limitation }
  }
}
