import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { shortHash } from '../short-hash.ts'
import {
  HOST_ADDRESS,
  NO_CONNECTION,
  OUTSIDE,
  PORT,
  type TestBed,
  hasNamespaces,
  openTestBed,
  probe,
  query,
  reserveTestBed,
} from './network-harness.ts'

const moduleUrl = (name: string) => JSON.stringify(new URL(name, import.meta.url).href)

/** Opens a network for each use, prints their command prefixes, and removes the networks at the end of its stdin. */
const DRIVER = `
const { installationNumber } = await import(${moduleUrl('./allocations.ts')})
const { NamespaceNetwork } = await import(${moduleUrl('./namespace-network.ts')})
const { removeNetworks } = await import(${moduleUrl('./namespaces.ts')})
const [stateDir, label] = process.argv.slice(1)
const number = await installationNumber(stateDir, removeNetworks)
const network = await NamespaceNetwork.open({ stateDir, label, number, targets: { squid: [], build: [] } })
const uses = ['squid', 'build']
const prefixes = await Promise.all(uses.map((use) => network.open(use, use)))
console.log(JSON.stringify({ pid: process.pid, prefixes }))
await new Promise((done) => process.stdin.on('end', done).resume())
for (const use of uses) await network.close(use)
await network.detach()
process.exit()
`

/** The resolvers of a host: those in /etc/resolv.conf, and the upstream servers that systemd-resolved lists. */
type Resolvers = { listed: string[]; upstream?: string[] }

describe.skipIf(!hasNamespaces)('DNS in networks as namespaces', () => {
  let bed: TestBed
  const cleanups: (() => unknown)[] = []

  reserveTestBed()
  beforeEach(async () => {
    bed = await openTestBed()
    await bed.listen()
    await bed.listen(bed.outside)
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
    await bed.end()
  })

  /** Opens networks on a host with these resolvers. Resolves with a command prefix for each use. */
  async function openWith({ listed, upstream }: Resolvers): Promise<{ squid: string[]; build: string[] }> {
    const stateDir = bed.stateDir()
    const write = (name: string, servers: string[]) => {
      const file = join(stateDir, name)
      writeFileSync(file, servers.map((address) => `nameserver ${address}\n`).join(''))
      return file
    }
    // Hides the files of this host's systemd-resolved, in a mount namespace.
    const created = mkdirSync('/run/systemd', { recursive: true })
    if (created) cleanups.push(() => rmSync(created, { recursive: true }))
    const prepare = [
      'mount -t tmpfs none /run/systemd',
      'mkdir /run/systemd/resolve',
      // With systemd-resolved, the file is a link to a hidden one.
      '[ -e /etc/resolv.conf ] || touch /etc/resolv.conf',
      `mount --bind ${write('listed', listed)} /etc/resolv.conf`,
      ...(upstream ? [`cp ${write('upstream', upstream)} /run/systemd/resolve/resolv.conf`] : []),
    ]
    const node = [process.execPath, '--input-type=module', '-e', DRIVER, stateDir, shortHash(stateDir)]
    const script = `${prepare.join('\n')}\nexec "$@"`
    const driver = spawn('unshare', ['--mount', '/bin/sh', '-ec', script, 'sh', ...node], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(driver, 'exit')
    cleanups.push(async () => {
      driver.stdin.end()
      await ended
    })
    const [line] = (await Promise.race([
      once(driver.stdout.setEncoding('utf8'), 'data'),
      ended.then(() => Promise.reject(new Error('The driver ended'))),
    ])) as [string]
    const { pid, prefixes } = JSON.parse(line) as { pid: number; prefixes: [string[], string[]] }
    // The files of the namespaces are mounted only in the mount namespace of the driver.
    const [squid, build] = prefixes.map((prefix) => ['nsenter', `--mount=/proc/${pid}/ns/mnt`, ...prefix])
    return { squid: squid ?? [], build: build ?? [] }
  }

  /** Returns what a DNS server responds over UDP, and over TCP. */
  const queryDns = async (prefix: string[], address: string) => [
    await query(prefix, address),
    ...(await probe(prefix, [address], 53)),
  ]

  test('programs can use a DNS server on the host’s loopback, and no other port or address there', async () => {
    await bed.listenForDns('127.0.7.53')
    await bed.listenForDns('127.0.7.54')
    const { squid, build } = await openWith({ listed: ['127.0.7.53'] })
    for (const prefix of [squid, build]) {
      expect(await queryDns(prefix, '127.0.7.53')).toEqual(['127.0.7.53', '127.0.7.53'])
      expect(await queryDns(prefix, '127.0.7.54')).toEqual([NO_CONNECTION, NO_CONNECTION])
      expect(await probe(prefix, ['127.0.7.53'])).toEqual([NO_CONNECTION])
    }
    // The host reaches both.
    expect(await queryDns([], '127.0.7.54')).toEqual(['127.0.7.54', '127.0.7.54'])
    expect(await probe([], ['127.0.7.53'])).toEqual(['127.0.0.1'])
  })

  test('queries to a DNS server that only the host can reach are sent to its upstream server', async () => {
    await bed.listenForDns('127.0.7.53')
    await bed.listenForDns(OUTSIDE['10/8'], bed.outside)
    const { squid, build } = await openWith({ listed: ['127.0.7.53'], upstream: ['127.0.0.53', OUTSIDE['10/8']] })
    for (const prefix of [squid, build]) {
      expect(await queryDns(prefix, '127.0.7.53')).toEqual([OUTSIDE['10/8'], OUTSIDE['10/8']])
      expect(await queryDns(prefix, OUTSIDE['10/8'])).toEqual([OUTSIDE['10/8'], OUTSIDE['10/8']])
      expect(await probe(prefix, ['127.0.7.53', OUTSIDE['10/8']])).toEqual([NO_CONNECTION, NO_CONNECTION])
    }
    expect(await queryDns([], '127.0.7.53')).toEqual(['127.0.7.53', '127.0.7.53'])
  })

  test('programs can reach only port 53 of a DNS server at a private address, and no other server there', async () => {
    const [server, other] = [OUTSIDE['192.168/16'], OUTSIDE['172.16/12']]
    await bed.listenForDns(server, bed.outside)
    await bed.listenForDns(other, bed.outside)
    const { squid, build } = await openWith({ listed: [server] })
    for (const prefix of [squid, build]) {
      expect(await queryDns(prefix, server)).toEqual([server, server])
      expect(await queryDns(prefix, other)).toEqual([NO_CONNECTION, NO_CONNECTION])
      expect(await probe(prefix, [server])).toEqual([NO_CONNECTION])
      expect(await query(prefix, server, PORT)).toBe(NO_CONNECTION)
    }
    expect(await queryDns([], other)).toEqual([other, other])
    expect(await query([], server, PORT)).toBe(server)
    expect(await probe([], [server])).toEqual([HOST_ADDRESS])
  })
})
