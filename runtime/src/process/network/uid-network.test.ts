import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { shortHash } from '../short-hash.ts'
import { uidRangeOf } from '../uids.ts'
import { installationNumber } from './allocations.ts'
import { removeNetworks } from './namespaces.ts'
import { type NetworkTargets, noTargets } from './network.ts'
import {
  HOST_ADDRESS,
  NO_CONNECTION,
  OUTSIDE,
  LASTING_PORT,
  PORT,
  type TestBed,
  hasNamespaces,
  holdConnections,
  openTestBed,
  reserveTestBed,
  probe,
} from './network-harness.ts'
import { SQUIDS_LOOPBACK_ADDRESS } from './rules.ts'
import { runProgram, runScript } from './run-script.ts'
import { UidNetwork } from './uid-network.ts'
import { uidTableOf } from './uid-rules.ts'
import { until } from '../../until.ts'

describe.skipIf(!hasNamespaces)('networks as rules for uids', () => {
  let bed: TestBed
  let opened: UidNetwork[]
  let number: number
  let table: string

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

  async function open(targets: NetworkTargets = noTargets, stateDir = bed.stateDir()): Promise<UidNetwork> {
    number = await installationNumber(stateDir, removeNetworks)
    table = uidTableOf(number)
    const network = await UidNetwork.open({ stateDir, label: shortHash(stateDir), number, targets, watchMs: 50 })
    opened.push(network)
    return network
  }

  /** Returns the command prefix that runs a program as the installation's uid with this index. */
  const asUser = (index: number) => {
    const uid = String(uidRangeOf(number).first + index)
    return ['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups']
  }
  const openAs = async (network: UidNetwork, name: string, use: 'squid' | 'build', index: number) => {
    const prefix = await network.open(name, use, uidRangeOf(number).first + index)
    return [...prefix, ...asUser(index)]
  }
  /** Deletes rules, so that a test can show what they prevent. */
  const deleteRules = (chain: string) => runScript(`nft flush chain inet ${table} ${chain}`)

  test('programs can reach the internet, but no private, link-local or metadata address', async () => {
    await bed.listen(bed.outside)
    const prefix = await openAs(await open(), 'one', 'squid', 0)
    const { internet, ...others } = OUTSIDE
    const addresses = Object.values(others)
    expect(await probe(prefix, [internet])).toEqual([HOST_ADDRESS])
    expect(await probe(prefix, addresses)).toEqual(addresses.map(() => NO_CONNECTION))
    await deleteRules('restrict')
    expect(await probe(prefix, addresses)).toEqual(addresses.map(() => HOST_ADDRESS))
  })

  test('programs cannot reach any address of the host, unlike other users', async () => {
    await bed.listen()
    const prefix = await openAs(await open(), 'one', 'squid', 0)
    const addresses = [HOST_ADDRESS, '127.0.0.1', '127.0.0.2', '::1']
    expect(await probe(prefix, addresses)).toEqual(Array(4).fill(NO_CONNECTION))
    expect(await probe([], addresses)).toEqual([HOST_ADDRESS, '127.0.0.1', '127.0.0.1', '::1'])
    await deleteRules('restrict')
    expect(await probe(prefix, addresses)).toEqual([HOST_ADDRESS, '127.0.0.1', '127.0.0.1', '::1'])
  })

  test('a program that opens a port can accept no connection from the host, other machines or other versions', async () => {
    const network = await open()
    const prefix = await openAs(network, 'one', 'squid', 0)
    const other = await openAs(network, 'two', 'squid', 1)
    await bed.listen(prefix)
    const probeFromOutside = async () => [
      ...(await probe([], ['127.0.0.1', HOST_ADDRESS, '::1'])),
      ...(await probe(bed.outside, [HOST_ADDRESS])),
      ...(await probe(other, ['127.0.0.1'])),
    ]
    expect(await probeFromOutside()).toEqual(Array(5).fill(NO_CONNECTION))
    await deleteRules('restrict')
    expect(await probeFromOutside()).not.toContain(NO_CONNECTION)
  })

  test('programs can reach allowed services of the host, which can recognize squids, and the targets that the operator allows', async () => {
    await bed.listen()
    await bed.listen(bed.outside)
    const allowed = [{ host: OUTSIDE['10/8'], port: PORT }]
    const service = { host: 'localhost', port: PORT }
    const network = await open({ squid: [service, ...allowed], build: [{ host: '0.0.0.0/0', port: null }] })
    const squid = await openAs(network, 'squid', 'squid', 0)
    const build = await openAs(network, 'build', 'build', 1)
    const addresses = ['127.0.0.1', OUTSIDE['10/8'], OUTSIDE['192.168/16'], HOST_ADDRESS]
    expect(await probe(squid, addresses)).toEqual(['127.0.0.1', HOST_ADDRESS, NO_CONNECTION, NO_CONNECTION])
    // A wide range does not include loopback.
    expect(await probe(build, addresses)).toEqual([NO_CONNECTION, HOST_ADDRESS, HOST_ADDRESS, HOST_ADDRESS])
    const shown = await open({ squid: [{ ...service, showsClient: true }], build: [] })
    expect(await probe(await openAs(shown, 'squid', 'squid', 0), ['127.0.0.1'])).toEqual([SQUIDS_LOOPBACK_ADDRESS])
  })

  test('a version may have only a limited number of connections to the Postgres of squids', async () => {
    await bed.listen()
    await bed.listen(bed.outside)
    const hosts = ['127.0.0.1', OUTSIDE['10/8']]
    const network = await open({
      squid: hosts.map((host) => ({ host, port: LASTING_PORT, isLimited: true })),
      build: [],
    })
    const prefixes = []
    for (const index of [0, 1]) {
      await network.open(`version ${index}`, 'squid', uidRangeOf(number).first + index, 3)
      prefixes.push(asUser(index))
    }
    for (const host of hosts) {
      const held = await Promise.all(prefixes.map((prefix) => holdConnections(prefix, host, 5)))
      await Promise.all(held.map(({ close }) => close()))
      for (const { opened } of held) expect(opened).toEqual([true, true, true, false, false])
    }
  })

  test('a user of the installation without an open network can reach only the internet', async () => {
    await bed.listen()
    await bed.listen(bed.outside)
    const network = await open({ squid: [{ host: 'localhost', port: PORT }], build: [] })
    const squid = await openAs(network, 'one', 'squid', 0)
    const targets = [OUTSIDE.internet, '127.0.0.1', OUTSIDE.metadata]
    expect(await probe(squid, targets)).toEqual([HOST_ADDRESS, '127.0.0.1', NO_CONNECTION])
    expect(await probe(asUser(1), targets)).toEqual([HOST_ADDRESS, NO_CONNECTION, NO_CONNECTION])
    await openAs(network, 'two', 'squid', 1)
    await network.close('one')
    expect(await probe(squid, targets)).toEqual([HOST_ADDRESS, NO_CONNECTION, NO_CONNECTION])
  })

  test('a later server keeps the rules of running programs, with its own targets, and restores deleted rules', async () => {
    await bed.listen()
    const stateDir = bed.stateDir()
    const first = await open(noTargets, stateDir)
    const kept = await openAs(first, 'kept', 'squid', 0)
    const old = await openAs(first, 'old', 'squid', 1)
    await first.detach()
    expect(await probe(kept, ['127.0.0.1'])).toEqual([NO_CONNECTION])
    const second = await open({ squid: [{ host: 'localhost', port: PORT }], build: [] }, stateDir)
    await second.adopt(['kept'])
    expect([...(await probe(kept, ['127.0.0.1'])), ...(await probe(old, ['127.0.0.1']))]).toEqual([
      '127.0.0.1',
      NO_CONNECTION,
    ])
    await runScript(`nft delete table inet ${table}`)
    await until(() => runProgram(['nft', 'list', 'table', 'inet', table]))
    expect(await probe(kept, [HOST_ADDRESS])).toEqual([NO_CONNECTION])
  })

  test('closing the last network removes the rules', async () => {
    const hasTable = async () => (await runProgram(['nft', 'list', 'tables'])).includes(`inet ${table}\n`)
    const stateDir = bed.stateDir()
    const network = await open(noTargets, stateDir)
    await openAs(network, 'one', 'squid', 0)
    expect(await hasTable()).toBe(true)
    await network.close('one')
    expect(await hasTable()).toBe(false)
    expect(existsSync(stateDir)).toBe(true)
  })
})
