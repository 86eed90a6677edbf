import { uidRangeOf } from '../uids.ts'
import { type Policies, type Policy, PRIVATE_RANGES } from './addresses.ts'
import { limitedTargets, overLimit } from './connection-limits.ts'
import type { NetworkUse } from './network.ts'
import { REJECT, SQUIDS_LOOPBACK_ADDRESS, USES, allowedTargets, blockOf, dnsMatch, serviceMatches } from './rules.ts'

/** A program's user. `limitedConnections`: see `Workload`. */
export type UidUse = { uid: number; use: NetworkUse; limitedConnections?: number | undefined }

export const uidTableOf = (number: number) => `${blockOf(number).table}-uids`

/**
 * Returns the nftables rules for all programs of an installation by their uids, which replace earlier ones in one transaction.
 * A uid that is not listed has access to the internet only. A program can open ports but not accept a connection,
 * because its replies are dropped. A change of the rules counts connections from 0 again.
 */
export function uidRules(number: number, users: UidUse[], policies: Policies): string {
  const { first, last } = uidRangeOf(number)
  const table = uidTableOf(number)
  return `add table inet ${table}
delete table inet ${table}
table inet ${table} {
  set private { type ipv4_addr; flags interval; elements = { ${PRIVATE_RANGES.join(', ')} } }
  ${USES.map((use) => uidSet(use, users)).join('\n  ')}
  ${USES.map((use) => `chain allowed_${use} {\n    ${[...localRules(policies[use], policies), ...allowedTargets(use, policies)].join('\n    ')}\n  }`).join('\n  ')}
  chain output {
    type filter hook output priority filter - 5; policy accept;
    meta skuid ${first}-${last} jump restrict
  }
  chain restrict {
    meta nfproto != ipv4 ${REJECT}
    ct direction reply drop
    ${users.flatMap((user) => limitsOf(user, policies)).join('\n    ')}
    ${USES.map((use) => `meta skuid @${use} jump allowed_${use}`).join('\n    ')}
    fib daddr type local ${REJECT}
    ip daddr @private ${REJECT}
  }
  chain show_client {
    type nat hook postrouting priority srcnat; policy accept;
    ${USES.flatMap((use) => clientRules(use, policies[use])).join('\n    ')}
  }
}
`
}

const limitsOf = ({ uid, use, limitedConnections }: UidUse, policies: Policies): string[] =>
  overLimit(limitedTargets(policies[use], ['127.0.0.1'], limitedConnections)).map(
    (match) => `meta skuid ${uid} ${match} reject with tcp reset`,
  )

function uidSet(use: NetworkUse, users: UidUse[]): string {
  const uids = new Set(users.filter((user) => user.use === use).map(({ uid }) => uid))
  return `set ${use} { type uid; ${uids.size > 0 ? `elements = { ${[...uids].join(', ')} } ` : ''}}`
}

/** Returns rules for the services of this host that programs may reach, and its own DNS resolver. */
function localRules({ loopback }: Policy, { dns }: Policies): string[] {
  return [
    ...serviceMatches(loopback).map((service) => `${service} accept`),
    ...dns.replaced.map(({ address }) => `${dnsMatch(address)} accept`),
    // An operator's wide range must not include the services of this host.
    `ip daddr 127.0.0.0/8 ${REJECT}`,
  ]
}

/** Returns rules that give programs an address by which services distinguish them from other programs of the host. */
function clientRules(use: NetworkUse, { loopback }: Policy): string[] {
  const shown = loopback.filter(({ showsClient }) => showsClient)
  return serviceMatches(shown).map((service) => `meta skuid @${use} ${service} snat ip to ${SQUIDS_LOOPBACK_ADDRESS}`)
}
