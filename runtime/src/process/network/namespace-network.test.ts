import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { shortHash } from '../short-hash.ts'
import { installationNumber } from './allocations.ts'
import type { ConnectionLimits } from './connection-limits.ts'
import { NamespaceNetwork } from './namespace-network.ts'
import { namespacesOf, removalScript, removeNetworks } from './namespaces.ts'
import { type NetworkTargets, noTargets } from './network.ts'
import {
  ALLOWED_ADDRESSES,
  ALLOWED_TARGETS,
  HOST_ADDRESS,
  NO_CONNECTION,
  OUTSIDE,
  PORT,
  type TestBed,
  hasNamespaces,
  LASTING_PORT,
  holdConnections,
  openTestBed,
  reserveTestBed,
  probe,
} from './network-harness.ts'
import { runProgram, runScript } from './run-script.ts'
import { until } from '../../until.ts'

describe.skipIf(!hasNamespaces)('networks as namespaces', () => {
  let bed: TestBed
  let opened: NamespaceNetwork[]

  reserveTestBed()
  beforeEach(async () => {
    opened = []
    bed = await openTestBed()
  })

  afterEach(async () => {
    for (const network of opened) {
      await network.adopt([])
      await network.detach()
    }
    await bed.end()
  })

  /** Opens the networks of a server. `stateDir`: the state directory of an earlier server, if any. */
  async function open(
    targets: NetworkTargets = noTargets,
    stateDir = bed.stateDir(),
    connections?: ConnectionLimits,
  ): Promise<NamespaceNetwork> {
    const number = await installationNumber(stateDir, removeNetworks)
    const label = shortHash(stateDir)
    const network = await NamespaceNetwork.open({ stateDir, label, number, targets, watchMs: 50, connections })
    opened.push(network)
    return network
  }

  const addressIn = async (prefix: string[]) => {
    const text = await runProgram([...prefix, 'ip', '-4', '-o', 'address', 'show', 'eth0'])
    return /inet ([\d.]+)/.exec(text)?.[1] ?? ''
  }
  /**
   * Returns the name of the installation's nftables table. Installation n has the n-th /22 block of addresses and the table `shoal-n`, with
   * n in hexadecimal (`blockOf`).
   */
  const nftTableOf = async (prefix: string[]) => {
    const [, second, third] = (await addressIn(prefix)).split('.').map(Number)
    const number = (((second ?? 0) - 18) * 256 + (third ?? 0)) >> 2
    return `shoal-${number.toString(16).padStart(2, '0')}`
  }
  /** Deletes the rules of some chains, so that a test can show what the rules prevent. */
  const deleteRules = async (prefix: string[], ...chains: string[]) => {
    const table = await nftTableOf(prefix)
    await runScript(chains.map((chain) => `nft flush chain inet ${table} ${chain}`).join('\n'))
  }

  const privateTargets = Object.entries(OUTSIDE).filter(([name]) => name !== 'internet')

  test('programs can reach the internet, but no private, link-local or metadata address', async () => {
    await bed.listen(bed.outside)
    const prefix = await (await open()).open('one', 'squid')
    const addresses = privateTargets.map(([, address]) => address)
    expect(await probe(prefix, [OUTSIDE.internet])).toEqual([HOST_ADDRESS])
    expect(await probe(prefix, addresses)).toEqual(addresses.map(() => NO_CONNECTION))
    await deleteRules(prefix, 'forward')
    expect(await probe(prefix, addresses)).toEqual(addresses.map(() => HOST_ADDRESS))
  })

  test('programs cannot reach any address of the host', async () => {
    await bed.listen()
    const prefix = await (await open()).open('one', 'squid')
    const ownAddress = await addressIn(prefix)
    const gateway = await runProgram([...prefix, 'ip', '-4', 'route', 'show', 'default']).then(
      (text) => /via ([\d.]+)/.exec(text)?.[1] ?? '',
    )
    expect(await probe(prefix, [HOST_ADDRESS, gateway, '127.0.0.1', '::1'])).toEqual(Array(4).fill(NO_CONNECTION))
    await deleteRules(prefix, 'input')
    expect(await probe(prefix, [HOST_ADDRESS, gateway])).toEqual([ownAddress, ownAddress])
    expect(await probe([], ['127.0.0.1', '::1'])).toEqual(['127.0.0.1', '::1'])
  })

  test('programs have no IPv6, and the host drops their IPv6 packets', async () => {
    await bed.listen()
    const prefix = await (await open()).open('one', 'squid')
    const table = await nftTableOf(prefix)
    expect(await runProgram([...prefix, 'ip', '-6', '-o', 'address', 'show', 'scope', 'link'])).toBe('')
    const [host = ''] = readdirSync('/sys/class/net').filter((name) => name.startsWith(`shl${table.slice(-2)}s`))
    await runScript(`
echo 0 >/proc/sys/net/ipv6/conf/${host}/disable_ipv6
ip -6 address add fd00:7357::1/64 dev ${host} nodad
${prefix.join(' ')} sh -ec 'echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6; ip -6 address add fd00:7357::2/64 dev eth0 nodad'`)
    expect(await probe(prefix, ['fd00:7357::1'])).toEqual([NO_CONNECTION])
    await deleteRules(prefix, 'check_source', 'input', 'output')
    expect(await probe(prefix, ['fd00:7357::1'])).toEqual(['fd00:7357::2'])
  })

  test('programs cannot reach another network, of the same installation or of another one', async () => {
    const [first, second] = [await open(), await open()]
    const prefix = await first.open('one', 'squid')
    const neighbours = [
      await first.open('two', 'squid'),
      await first.open('three', 'build'),
      await second.open('one', 'squid'),
    ]
    for (const neighbour of neighbours) await bed.listen(neighbour)
    const addresses = await Promise.all(neighbours.map(addressIn))
    expect(new Set(addresses).size).toBe(3)
    expect(await probe(prefix, addresses)).toEqual(Array(3).fill(NO_CONNECTION))
    const ownAddress = await addressIn(prefix)
    for (const network of [prefix, neighbours[2] ?? []]) await deleteRules(network, 'forward', 'translate_source')
    expect(await probe(prefix, addresses)).toEqual([ownAddress, ownAddress, ownAddress])
  })

  test('neither other machines nor programs of the host can connect to a program', async () => {
    const prefix = await (await open()).open('one', 'squid')
    await bed.listen(prefix)
    const address = await addressIn(prefix)
    expect(await probe(prefix, ['127.0.0.1', address])).toEqual(['127.0.0.1', address])
    expect([...(await probe([], [address])), ...(await probe(bed.outside, [address]))]).toEqual([
      NO_CONNECTION,
      NO_CONNECTION,
    ])
    await deleteRules(prefix, 'forward', 'output', 'input')
    expect([...(await probe([], [address])), ...(await probe(bed.outside, [address]))]).not.toContain(NO_CONNECTION)
  })

  test('programs can reach allowed services of the host’s loopback, at the same address, and no other services', async () => {
    await bed.listen()
    const service = { host: 'localhost', port: PORT }
    const hidesClient = await open({ squid: [service], build: [] })
    const showsClient = await open({ squid: [{ ...service, showsClient: true }], build: [] })
    const [squid, build, other] = [
      await hidesClient.open('squid', 'squid'),
      await hidesClient.open('build', 'build'),
      await showsClient.open('squid', 'squid'),
    ]
    expect(await probe(squid, ['127.0.0.1', HOST_ADDRESS])).toEqual(['127.0.0.1', NO_CONNECTION])
    expect(await probe(build, ['127.0.0.1'])).toEqual([NO_CONNECTION])
    expect(await probe(other, ['127.0.0.1'])).toEqual([await addressIn(other)])
  })

  test('a rule of the host that redirects a port exposes no service to programs', async () => {
    await bed.listen()
    const prefix = await (
      await open({ squid: [{ host: 'localhost', port: PORT + 1 }], build: [] })
    ).open('one', 'squid')
    const rule = `iifname "shl${(await nftTableOf(prefix)).slice(-2)}*" tcp dport 80 redirect to :${PORT}`
    const chain = 'chain ports { type nat hook prerouting priority dstnat - 1; policy accept;'
    await runProgram(['nft', '-f', '-'], `table inet shoal-test-redirect { ${chain} ${rule}; }; }\n`)
    try {
      expect(await probe(prefix, [HOST_ADDRESS, OUTSIDE.internet], 80)).toEqual([NO_CONNECTION, NO_CONNECTION])
      await deleteRules(prefix, 'input')
      expect(await probe(prefix, [HOST_ADDRESS], 80)).toEqual([await addressIn(prefix)])
    } finally {
      await runScript('nft delete table inet shoal-test-redirect 2>/dev/null || :')
    }
  })

  test('programs can reach the ports and ranges that the operator allows, but never the networks of other squids', async () => {
    await bed.listen(bed.outside)
    await bed.listen()
    const network = await open(ALLOWED_TARGETS)
    const prefix = await network.open('one', 'squid')
    const reached = await probe(prefix, ALLOWED_ADDRESSES)
    expect(reached).toEqual([HOST_ADDRESS, HOST_ADDRESS, NO_CONNECTION, await addressIn(prefix)])
    await bed.listen(prefix)
    const wide = await network.open('wide', 'build')
    expect(await probe(wide, [OUTSIDE.metadata, await addressIn(prefix)])).toEqual([HOST_ADDRESS, NO_CONNECTION])
  })

  test('programs can reach several Postgres servers, on this host and on others, and no other host', async () => {
    await bed.listen(bed.outside)
    await bed.listen()
    const hosts = ['localhost', OUTSIDE['10/8'], OUTSIDE['192.168/16']]
    const network = await open({ squid: hosts.map((host) => ({ host, port: PORT })), build: [] })
    const [squid, build] = [await network.open('one', 'squid'), await network.open('two', 'build')]
    const addresses = ['127.0.0.1', ...hosts.slice(1), OUTSIDE['172.16/12']]
    expect(await probe(squid, addresses)).toEqual(['127.0.0.1', HOST_ADDRESS, HOST_ADDRESS, NO_CONNECTION])
    expect(await probe(build, addresses)).toEqual(addresses.map(() => NO_CONNECTION))
  })

  test('a network has a limited number of connections, which does not affect its neighbours', async () => {
    await bed.listen(bed.outside)
    const network = await open(noTargets, bed.stateDir(), { open: 20, perMinute: 1_000_000, burst: 1_000 })
    expect(network.limitation).toBeNull()
    const [one, two] = [await network.open('one', 'squid'), await network.open('two', 'squid')]
    const connections = await holdConnections(one, OUTSIDE.internet, 22)
    try {
      expect(connections.opened).toEqual([...Array(20).fill(true), false, false])
      expect(await probe(one, [OUTSIDE.internet])).toEqual([NO_CONNECTION])
      expect(await probe(two, [OUTSIDE.internet])).toEqual([HOST_ADDRESS])
    } finally {
      await connections.close()
    }
    await until(async () => expect(await probe(one, [OUTSIDE.internet])).toEqual([HOST_ADDRESS]))
  })

  test('a network may have only a limited number of connections to the Postgres of squids, and any number to other targets', async () => {
    await bed.listen(bed.outside)
    await bed.listen()
    const network = await open({
      squid: [
        { host: '127.0.0.1', port: LASTING_PORT, isLimited: true },
        { host: OUTSIDE['10/8'], port: LASTING_PORT, isLimited: true },
        { host: OUTSIDE['192.168/16'], port: LASTING_PORT },
      ],
      build: [],
    })
    const [one, two] = [await network.open('one', 'squid', null, 3), await network.open('two', 'squid', null, 3)]
    for (const address of ['127.0.0.1', OUTSIDE['10/8']]) {
      const connections = await holdConnections(one, address, 5)
      const others = await holdConnections(one, OUTSIDE['192.168/16'], 5)
      const ofNeighbour = await holdConnections(two, address, 3)
      try {
        expect(connections.opened).toEqual([true, true, true, false, false])
        expect(others.opened).toEqual(Array(5).fill(true))
        expect(ofNeighbour.opened).toEqual([true, true, true])
      } finally {
        await Promise.all([connections.close(), others.close(), ofNeighbour.close()])
      }
    }
  })

  test('a network can open connections only at a limited rate, since the host keeps entries of closed connections for a while', async () => {
    await bed.listen(bed.outside)
    const network = await open(noTargets, bed.stateDir(), { open: 1_000, perMinute: 1, burst: 10 })
    const connections = await holdConnections(await network.open('one', 'squid'), OUTSIDE.internet, 30)
    await connections.close()
    expect(connections.opened.slice(0, 10)).toEqual(Array(10).fill(true))
    expect(connections.opened).toContain(false)
  })

  test('a later server keeps the networks that it needs, updates their rules, and removes all others', async () => {
    await bed.listen()
    const stateDir = bed.stateDir()
    const first = await open(noTargets, stateDir)
    const keptPrefix = await first.open('kept', 'squid')
    await first.open('old', 'squid')
    const address = await addressIn(keptPrefix)
    await first.detach()
    const label = shortHash(stateDir)
    rmSync(join(stateDir, 'networks', shortHash('old')))
    await runScript(`ip netns add shoal-${label}-partial`)
    const second = await open({ squid: [{ host: '127.0.0.1', port: PORT }], build: [] }, stateDir)
    await second.adopt(['kept', 'old'])
    expect(await second.open('kept', 'squid')).toEqual(keptPrefix)
    expect(await addressIn(keptPrefix)).toBe(address)
    expect(await probe(keptPrefix, ['127.0.0.1'])).toEqual(['127.0.0.1'])
    await second.detach()
    expect(namespacesOf(label).map((name) => `--net=/run/netns/${name}`)).toEqual(keptPrefix.slice(1))
  })

  test('a spare network is used once, and protects as well as any other', async () => {
    await bed.listen()
    await bed.listen(bed.outside)
    const stateDir = bed.stateDir()
    const network = await open({ squid: [{ host: '127.0.0.1', port: PORT }], build: [] }, stateDir)
    // Starts the creation of one spare for each use.
    await network.adopt([])
    await until(() => expect(namespacesOf(shortHash(stateDir))).toHaveLength(2))
    const [one, two] = await Promise.all([network.open('one', 'squid'), network.open('two', 'squid')])
    const build = await network.open('three', 'build')
    expect(new Set([one, two, build].map(String)).size).toBe(3)
    expect(new Set(await Promise.all([one, two, build].map(addressIn))).size).toBe(3)
    const found = await Promise.all(
      [one, two, build].map((prefix) => probe(prefix, ['127.0.0.1', HOST_ADDRESS, OUTSIDE.internet, OUTSIDE.metadata])),
    )
    const ofSquid = ['127.0.0.1', NO_CONNECTION, HOST_ADDRESS, NO_CONNECTION]
    expect(found).toEqual([ofSquid, ofSquid, [NO_CONNECTION, ...ofSquid.slice(1)]])
  })

  test('a spare network that another program has removed is not used', async () => {
    const stateDir = bed.stateDir()
    const network = await open(noTargets, stateDir)
    // Starts the creation of one spare for each use.
    await network.adopt([])
    const label = shortHash(stateDir)
    await until(() => expect(namespacesOf(label)).toHaveLength(2))
    // The rules inside are the last step of a network's creation.
    for (const name of namespacesOf(label))
      await until(async () =>
        expect(await runProgram(['nsenter', `--net=/run/netns/${name}`, 'nft', 'list', 'ruleset'])).toContain('chain'),
      )
    await runScript(removalScript(namespacesOf(label)))
    expect(await runProgram([...(await network.open('one', 'squid')), 'echo', 'runs'])).toBe('runs\n')
  })

  test('rules are restored after a reload of the firewall has deleted them', async () => {
    await bed.listen()
    const prefix = await (await open()).open('one', 'squid')
    const table = await nftTableOf(prefix)
    await runScript(`nft delete table inet ${table}`)
    await until(() => runProgram(['nft', 'list', 'table', 'inet', table]))
    expect(await probe(prefix, [HOST_ADDRESS])).toEqual([NO_CONNECTION])
  })

  test('closing a network leaves nothing behind, and the next server removes the networks of an installation whose directory was deleted', async () => {
    const remaining = async () => [
      ...readdirSync('/sys/class/net').filter((name) => name.startsWith(interfacePrefix)),
      ...readdirSync('/run/netns').filter((name) => name.includes(label)),
      ...(await runProgram(['nft', 'list', 'tables'])).split('\n').filter((line) => line.endsWith(` ${table}`)),
    ]
    const stateDir = bed.stateDir()
    const label = shortHash(stateDir)
    const network = await open(noTargets, stateDir)
    const prefix = await network.open('one', 'squid')
    const table = await nftTableOf(prefix)
    const interfacePrefix = `shl${table.slice(-2)}`
    expect(await remaining()).toHaveLength(3)
    await network.close('one')
    expect(await remaining()).toEqual([])
    await network.open('two', 'squid')
    await network.detach()
    rmSync(stateDir, { recursive: true })
    const number = Number.parseInt(table.slice(-2), 16)
    // Installations of other tests may take the number for a while, or leave lower ones, which are assigned first.
    const otherDir = await until(async () => {
      const dir = bed.stateDir()
      const assigned = await installationNumber(dir, removeNetworks)
      if (assigned > number) rmSync(dir, { recursive: true })
      expect(assigned).toBe(number)
      return dir
    })
    const other = await open(noTargets, otherDir)
    expect(await nftTableOf(await other.open('one', 'squid'))).toBe(table)
    expect(readdirSync('/run/netns').filter((name) => name.includes(label))).toEqual([])
    // The clean-up of the test needs the directory.
    mkdirSync(join(stateDir, 'networks'), { recursive: true })
    expect(existsSync(stateDir)).toBe(true)
  })
})
