import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:net'
import { relay } from '../relay.ts'

/** A network namespace with a link to this machine, through which the container reaches other machines. */
export type ContainerNetwork = {
  /** Path of the namespace. */
  path: string
  /** The address of the container, as this machine sees it. */
  address: string
  /** The address of this machine, as the container sees it. */
  hostAddress: string
  /** Makes a loopback port of this machine available at `hostAddress`. */
  exposeHostPort: (port: number) => Promise<void>
  remove: () => void
}

const forwarding = '/proc/sys/net/ipv4/ip_forward'

const run = (program: string, args: string[], input = '') =>
  void execFileSync(program, args, { input, stdio: ['pipe', 'pipe', 'pipe'] })

/** Creates a network for a container. `remove` undoes all changes of this machine. @throws Error with the output of `ip` or `nft` */
export function createNetwork(): ContainerNetwork {
  const name = `shoal-deb-${process.pid % 100_000}`
  const link = `sd${process.pid % 100_000}`
  const part = `10.97.${process.pid % 250}`
  const [hostAddress, address] = [`${part}.1`, `${part}.2`]
  const wasForwarding = readFileSync(forwarding, 'utf8')
  const servers: Server[] = []
  const remove = () => {
    for (const server of servers) server.close()
    for (const [program, ...args] of [
      ['nft', 'delete', 'table', 'ip', name],
      ['ip', 'link', 'delete', link],
      ['ip', 'netns', 'delete', name],
    ] as const)
      spawnSync(program, args)
    writeFileSync(forwarding, wasForwarding)
  }
  try {
    run('ip', ['netns', 'add', name])
    run('ip', ['link', 'add', link, 'type', 'veth', 'peer', 'name', 'host0', 'netns', name])
    run('ip', ['address', 'add', `${hostAddress}/30`, 'dev', link])
    run('ip', ['link', 'set', link, 'up'])
    for (const args of [
      ['address', 'add', `${address}/30`, 'dev', 'host0'],
      ['link', 'set', 'lo', 'up'],
      ['link', 'set', 'host0', 'up'],
      ['route', 'add', 'default', 'via', hostAddress],
    ])
      run('ip', ['-n', name, ...args])
    const masquerade = `ip saddr ${address} oifname != "${link}" masquerade`
    run(
      'nft',
      ['-f', '-'],
      `table ip ${name} { chain out { type nat hook postrouting priority srcnat; ${masquerade}; }; }`,
    )
    writeFileSync(forwarding, '1')
  } catch (error) {
    remove()
    throw error
  }
  return {
    path: `/run/netns/${name}`,
    address,
    hostAddress,
    exposeHostPort: async (port) => void servers.push((await relay(hostAddress, port, port)).server),
    remove,
  }
}
