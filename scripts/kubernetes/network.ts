import { existsSync } from 'node:fs'
import { type Machine, runProgram } from './machine.ts'

/** The addresses of the network that connects the cluster's machines, their pods and the host. */
export const clusterRange = '10.90.0.0/16'
/** The address of the control plane's machine, which is also the default gateway of the nodes. */
export const controlAddress = '10.90.0.1'
/** The address of the host for pods. */
export const hostAddress = '10.90.0.100'
export const serviceRange = '10.96.0.0/24'

const hostLink = 'shoal-cluster'

/** A node with the address of the machine and the range of its pods. */
export type NodeAddresses = { name: string; address: string; podRange: string }

export const nodes: NodeAddresses[] = [
  { name: 'n1', address: '10.90.0.11', podRange: '10.90.1.0/24' },
  { name: 'n2', address: '10.90.0.12', podRange: '10.90.2.0/24' },
]

/** @throws if the host has a route to addresses of the cluster */
export function requireFreeRange(): void {
  const prefix = clusterRange.split('.').slice(0, 2).join('.')
  const routes = runProgram('ip', ['-4', 'route', 'show', 'table', 'all']).split('\n')
  const taken = routes.find((route) => route.split(' ').some((word) => word.startsWith(`${prefix}.`)))
  if (taken) throw new Error(`The test cluster needs ${clusterRange}, but the host has the route: ${taken.trim()}`)
}

/** Removes the host's link. Otherwise, the kernel would remove it only some time after the end of the machine at its other end. */
export function disconnectHost(): void {
  try {
    if (isHostConnected()) runProgram('ip', ['link', 'delete', hostLink])
  } catch (error) {
    if (isHostConnected()) throw error
  }
}

/** Returns whether the host has its link to the cluster's network. */
export function isHostConnected(): boolean {
  return existsSync(`/sys/class/net/${hostLink}`)
}

/** Connects the machines and the host by a bridge in the control plane's machine. The links end with the machines. */
export function connectMachines(control: Machine, nodeMachines: Machine[]): void {
  batch(null, [`link add ${hostLink} type veth peer name host netns ${control.pid}`])
  batch(control, [
    'link set lo up',
    'link add bridge0 type bridge',
    `addr add ${controlAddress}/24 dev bridge0`,
    'link set bridge0 up',
    'link set host master bridge0 up',
  ])
  for (const [index, machine] of nodeMachines.entries()) connectNode(control, machine, nodeAt(index))
  const routes = nodes.map(({ podRange, address }) => `route add ${podRange} via ${address}`)
  batch(control, routes)
  batch(null, [`addr add ${hostAddress}/24 dev ${hostLink}`, `link set ${hostLink} up`, ...routes])
  for (const machine of [control, ...nodeMachines]) machine.run('sh', ['-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'])
}

function connectNode(control: Machine, machine: Machine, { name, address }: NodeAddresses): void {
  runProgram('nsenter', [
    '--target',
    String(control.pid),
    '--net',
    'ip',
    'link',
    'add',
    name,
    'type',
    'veth',
    'peer',
    'name',
    'eth0',
    'netns',
    String(machine.pid),
  ])
  batch(control, [`link set ${name} master bridge0 up`])
  const others = nodes.filter((node) => node.name !== name)
  batch(machine, [
    'link set lo up',
    `addr add ${address}/24 dev eth0`,
    'link set eth0 up',
    `route add default via ${controlAddress}`,
    ...others.map((node) => `route add ${node.podRange} via ${node.address}`),
  ])
}

function nodeAt(index: number): NodeAddresses {
  const node = nodes[index]
  if (!node) throw new Error(`The cluster has no node ${index}`)
  return node
}

/** Runs commands of `ip` in a machine, or on the host. */
function batch(machine: Machine | null, commands: string[]): void {
  const input = `${commands.join('\n')}\n`
  if (machine) machine.run('ip', ['-batch', '-'], input)
  else runProgram('ip', ['-batch', '-'], input)
}
