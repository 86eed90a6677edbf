import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { shortHash } from '../short-hash.ts'
import { removalOf } from './host-rules.ts'
import type { NetworkUse } from './network.ts'
import { type Block, blockOf } from './rules.ts'
import { runScript } from './run-script.ts'
import { uidTableOf } from './uid-rules.ts'

/** The folder of the named network namespaces of ip(8). */
export const NAMESPACES = '/run/netns'
/** The folder that lists the network interfaces of the host. */
export const INTERFACES = '/sys/class/net'
/** Hardware addresses. They are the same in every network, since they never leave it. */
const [HOST_MAC, INNER_MAC] = ['02:53:68:6f:61:01', '02:53:68:6f:61:02']

/** Returns the name of a namespace of the installation with this label. */
export const namespaceOf = (label: string, id: string) => `shoal-${label}-${id}`

/** Lists the names of the existing namespaces of an installation. */
export function namespacesOf(label: string): string[] {
  if (!existsSync(NAMESPACES)) return []
  return readdirSync(NAMESPACES).filter((name) => name.startsWith(namespaceOf(label, '')))
}

/** Removes the networks and rules of an installation whose state directory was deleted. */
export async function removeNetworks(stateDir: string, number: number): Promise<void> {
  const { table } = blockOf(number)
  await runScript(
    [removalScript(namespacesOf(shortHash(stateDir))), removalOf(table), removalOf(uidTableOf(number))].join('\n'),
  )
}

/** Returns a shell script that removes networks. It first removes an interface, and thus its pair, because running programs would otherwise keep the pair. */
export const removalScript = (namespaces: string[]) =>
  namespaces.map((name) => `ip -n ${name} link del eth0 2>/dev/null || :\nip netns del ${name}`).join('\n')

type Creation = { namespace: string; block: Block; index: number; use: NetworkUse; rules: string }

/** Returns a shell script that creates a network. IPv6 stays off, so programs have only ::1. */
export function creationScript({ namespace, block, index, use, rules }: Creation): string {
  const mtu = uplinkMtu()
  const name = block.interfaceOf(use, index)
  const address = block.addressOf(index)
  return `
[ -e ${NAMESPACES}/${namespace} ] || ip netns add ${namespace}
ip link add ${name} address ${HOST_MAC} mtu ${mtu} type veth peer name eth0 address ${INNER_MAC} mtu ${mtu} netns ${namespace}
cd /proc/sys/net/ipv4/conf/${name}
echo 1 >route_localnet
echo 1 >forwarding
[ ! -e /proc/sys/net/ipv6/conf/${name} ] || echo 1 >/proc/sys/net/ipv6/conf/${name}/disable_ipv6
ip -batch - <<'END'
address add ${block.gateway}/32 dev ${name}
link set ${name} up
route add ${address}/32 dev ${name}
neighbour add ${address} lladdr ${INNER_MAC} dev ${name} nud permanent
END
exec nsenter --net=${NAMESPACES}/${namespace} /bin/sh -e <<'END'
cd /proc/sys/net
echo 1 >ipv4/conf/eth0/route_localnet
[ ! -e ipv6 ] || echo 1 >ipv6/conf/eth0/disable_ipv6
ip -batch - <<'INNER'
link set lo up
address add ${address}/32 dev eth0
link set eth0 up
route add ${block.gateway} dev eth0 scope link
route add default via ${block.gateway}
neighbour add ${block.gateway} lladdr ${HOST_MAC} dev eth0 nud permanent
INNER
exec nft -f - <<'INNER'
${rules}INNER
END
`
}

/** Returns the MTU of the host's default interface. Larger packets would be lost if a firewall drops the messages about their size. */
function uplinkMtu(): number {
  const routes = readFileSync('/proc/net/route', 'utf8')
    .split('\n')
    .map((line) => line.split('\t'))
  const device = routes.find(([, destination]) => destination === '00000000')?.[0]
  return device ? Number(readFileSync(join(INTERFACES, device, 'mtu'), 'utf8')) : 1500
}
