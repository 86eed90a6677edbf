import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { chmodSync, copyFileSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProcess } from '../processes.ts'
import { shortHash } from '../short-hash.ts'
import { findProgram } from './find-program.ts'
import {
  ALLOWED_ADDRESSES,
  ALLOWED_TARGETS,
  HOST_ADDRESS,
  NO_CONNECTION,
  OUTSIDE,
  PORT,
  type TestBed,
  LASTING_PORT,
  holdConnections,
  openTestBed,
  probe,
  reserveTestBed,
} from './network-harness.ts'
import { PASTA_ADDRESS, PASTA_GATEWAY } from './pasta-rules.ts'
import { runProgram, runScript } from './run-script.ts'
import {
  PREPARE_TUN,
  USER,
  type UserServer,
  type UserServerOptions,
  asUser,
  killNetworks,
  processesOf,
  reasonToSkip,
  startUserServer,
} from './user-harness.ts'
import { until } from '../../until.ts'

const reason = await reasonToSkip()
if (reason !== null) console.warn(`Networks without root are not tested: ${reason}.`)

describe.skipIf(reason !== null)('networks by pasta', () => {
  let bed: TestBed
  let servers: UserServer[]
  let stateDirs: string[]

  reserveTestBed()
  beforeEach(async () => {
    servers = []
    stateDirs = []
    bed = await openTestBed()
  })

  afterEach(async () => {
    for (const server of servers) await server.kill()
    for (const dir of stateDirs) killNetworks(dir)
    await bed.end()
  })

  async function start(options: Partial<UserServerOptions> = {}) {
    const server = await startUserServer({ stateDir: makeStateDir(), ...options })
    servers.push(server)
    return server
  }

  function makeStateDir(): string {
    const stateDir = bed.stateDir()
    stateDirs.push(stateDir)
    return stateDir
  }

  const openIn = async (server: UserServer, name: string, use: 'squid' | 'build' = 'squid') => [
    ...asUser,
    ...(await server.open(name, use)),
  ]
  const holderOf = (prefix: string[]) => Number(/--net=\/proc\/(\d+)\//.exec(prefix.join(' '))?.[1])
  const leaderOf = (prefix: string[]) =>
    Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${holderOf(prefix)}/status`, 'utf8'))?.[1])
  /** Command prefix that runs a program with all capabilities over a network, as its server does. */
  const asRootOf = (prefix: string[]) => [
    ...asUser,
    'nsenter',
    '--preserve-credentials',
    `--user=/proc/${leaderOf(prefix)}/ns/user`,
    `--net=/proc/${holderOf(prefix)}/ns/net`,
  ]
  /** Deletes the rules of a chain, so that a test can show what they prevent. */
  const deleteRules = (prefix: string[], chain = 'output') =>
    runProgram([...asRootOf(prefix), 'nft', 'flush', 'chain', 'inet', 'shoal', chain])
  const service = { squid: [{ host: 'localhost', port: PORT }], build: [] }

  test('programs can reach the internet, but no private, link-local or metadata address', async () => {
    await bed.listen(bed.outside)
    const prefix = await openIn(await start(), 'one')
    const { internet, ...others } = OUTSIDE
    const addresses = Object.values(others)
    expect(await probe(prefix, [internet])).toEqual([HOST_ADDRESS])
    expect(await probe(prefix, addresses)).toEqual(addresses.map(() => NO_CONNECTION))
    await deleteRules(prefix)
    expect(await probe(prefix, addresses)).toEqual(addresses.map(() => HOST_ADDRESS))
  })

  test('programs cannot reach any address of the host', async () => {
    await bed.listen()
    const prefix = await openIn(await start(), 'one')
    const addresses = [HOST_ADDRESS, PASTA_GATEWAY, '127.0.0.1', '127.0.0.2', '::1']
    expect(await probe(prefix, addresses)).toEqual(Array(5).fill(NO_CONNECTION))
    expect(await probe([], ['127.0.0.1', '127.0.0.2', '::1'])).toEqual(['127.0.0.1', '127.0.0.1', '::1'])
    await deleteRules(prefix)
    // Without rules, pasta still does not connect to loopback.
    expect(await probe(prefix, [HOST_ADDRESS, '127.0.0.1', '::1'])).toEqual([
      HOST_ADDRESS,
      NO_CONNECTION,
      NO_CONNECTION,
    ])
  })

  test('programs have no IPv6 outside their network', async () => {
    const prefix = await openIn(await start(), 'one')
    expect(await runProgram([...prefix, 'ip', '-6', '-o', 'address', 'show', 'scope', 'global', 'dev', 'eth0'])).toBe(
      '',
    )
    await runProgram([...asRootOf(prefix), 'ip', '-6', 'address', 'add', 'fd00:7357::2/64', 'dev', 'eth0', 'nodad'])
    const send = `const socket = require('node:dgram').createSocket('udp6')
      socket.send('x', 9, 'fd00:7357::1', (error) => { console.log(error?.code ?? 'sent'); socket.close() })`
    const trySending = () => runProgram([...prefix, process.execPath, '-e', send])
    expect(await trySending()).toBe('EPERM\n')
    await deleteRules(prefix)
    expect(await trySending()).toBe('sent\n')
  })

  test('neither other networks, the host nor other machines can connect to a program', async () => {
    const [first, second] = [await start(), await start()]
    const prefix = await openIn(first, 'one')
    await bed.listen(prefix)
    expect(await probe(prefix, ['127.0.0.1', PASTA_ADDRESS])).toEqual(['127.0.0.1', PASTA_ADDRESS])
    const neighbours = [await openIn(first, 'two'), await openIn(first, 'three', 'build'), await openIn(second, 'one')]
    for (const neighbour of neighbours) {
      const addresses = ['127.0.0.1', PASTA_ADDRESS, HOST_ADDRESS]
      expect(await probe(neighbour, addresses)).toEqual(Array(3).fill(NO_CONNECTION))
      await deleteRules(neighbour)
      expect(await probe(neighbour, addresses)).toEqual(Array(3).fill(NO_CONNECTION))
    }
    expect(await probe([], ['127.0.0.1', HOST_ADDRESS, PASTA_ADDRESS])).toEqual(Array(3).fill(NO_CONNECTION))
    expect(await probe(bed.outside, [HOST_ADDRESS])).toEqual([NO_CONNECTION])
    // The probes can connect to the listeners on the host, which shows that the probes work.
    await bed.listen()
    expect([...(await probe([], ['127.0.0.1'])), ...(await probe(bed.outside, [HOST_ADDRESS]))]).not.toContain(
      NO_CONNECTION,
    )
  })

  test('programs can reach allowed services of the host’s loopback, at the same address, and no other services', async () => {
    await bed.listen()
    const server = await start({ targets: service })
    const [squid, build] = [await openIn(server, 'squid'), await openIn(server, 'build', 'build')]
    expect(await probe(squid, ['127.0.0.1', HOST_ADDRESS, PASTA_GATEWAY])).toEqual([
      '127.0.0.1',
      NO_CONNECTION,
      NO_CONNECTION,
    ])
    expect(await probe(build, ['127.0.0.1'])).toEqual([NO_CONNECTION])
  })

  test('programs can reach the ports and ranges that the operator allows, but never loopback', async () => {
    await bed.listen(bed.outside)
    await bed.listen()
    const server = await start({ targets: ALLOWED_TARGETS })
    expect(await probe(await openIn(server, 'one'), ALLOWED_ADDRESSES)).toEqual([
      HOST_ADDRESS,
      HOST_ADDRESS,
      NO_CONNECTION,
      HOST_ADDRESS,
    ])
    const wide = await openIn(server, 'wide', 'build')
    expect(await probe(wide, [OUTSIDE.metadata, '127.0.0.1', PASTA_GATEWAY])).toEqual([
      HOST_ADDRESS,
      NO_CONNECTION,
      NO_CONNECTION,
    ])
  })

  test('a network has a limited number of connections, which does not affect its neighbours', async () => {
    await bed.listen(bed.outside)
    const server = await start({ connections: { open: 20, perMinute: 1_000_000, burst: 1_000 } })
    const [one, two] = [await openIn(server, 'one'), await openIn(server, 'two')]
    const connections = await holdConnections(one, OUTSIDE.internet, 22)
    try {
      expect(connections.opened).toEqual([...Array(20).fill(true), false, false])
      expect(await probe(two, [OUTSIDE.internet])).toEqual([HOST_ADDRESS])
    } finally {
      await connections.close()
    }
    await until(async () => expect(await probe(one, [OUTSIDE.internet])).toEqual([HOST_ADDRESS]))
  })

  test('a network may have only a limited number of connections to the Postgres of squids', async () => {
    await bed.listen(bed.outside)
    await bed.listen()
    const hosts = ['127.0.0.1', OUTSIDE['10/8']]
    const server = await start({
      targets: { squid: hosts.map((host) => ({ host, port: LASTING_PORT, isLimited: true })), build: [] },
    })
    const prefix = [...asUser, ...(await server.open('one', 'squid', null, 3))]
    for (const host of hosts) {
      const connections = await holdConnections(prefix, host, 5)
      await connections.close()
      expect(connections.opened).toEqual([true, true, true, false, false])
    }
  })

  test('programs can use a DNS server on the host’s loopback', async () => {
    const resolver = createSocket('udp4')
    resolver.on('message', (query, { port, address }) => resolver.send(`answer to ${String(query)}`, port, address))
    await new Promise<void>((done) => resolver.bind(53, '127.0.7.53', done))
    try {
      const file = join(makeStateDir(), 'resolv.conf')
      writeFileSync(file, 'nameserver 127.0.7.53\n', { mode: 0o644 })
      chmodSync(dirname(file), 0o755)
      const prepare = `${PREPARE_TUN}\nmount --bind ${file} /etc/resolv.conf`
      const prefix = await openIn(await start({ prepare }), 'one')
      const query = `const socket = require('node:dgram').createSocket('udp4')
        socket.on('message', (text) => { console.log(String(text)); process.exit() })
        socket.send('query', 53, '127.0.7.53')
        setTimeout(() => process.exit(1), 5_000)`
      expect(await runProgram([...prefix, process.execPath, '-e', query])).toBe('answer to query\n')
    } finally {
      resolver.close()
    }
  })

  test('programs cannot change the rules or settings of their network, nor join another one', async () => {
    await bed.listen(bed.outside)
    const server = await start()
    const [prefix, other] = [await openIn(server, 'one'), await openIn(server, 'two')]
    const change = (target: number[]) => [
      'nft flush ruleset',
      'unshare --user --map-root-user nft flush ruleset',
      'ip link set eth0 down',
      'for file in /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/*/*; do echo 1 >$file; done',
      ...target.map((pid) => `nsenter --preserve-credentials --user=/proc/${pid}/ns/user nft flush ruleset`),
      `nsenter --net=/proc/${holderOf(other)}/ns/net true`,
    ]
    const targets = [leaderOf(prefix), holderOf(other)]
    const successfulScripts = async (command: string[], scripts: string[]) => {
      const script = scripts.map((line) => `(${line}) >/dev/null 2>&1 && echo '${line}'`)
      return (await runProgram([...command, '/bin/sh', '-c', `${script.join('\n')}\n:`])).split('\n').filter(Boolean)
    }
    expect(await successfulScripts([...prefix, ...server.sandbox], change(targets))).toEqual([])
    expect(await successfulScripts(prefix, change(targets))).toEqual([])
    expect(await probe(prefix, [OUTSIDE.internet, OUTSIDE.metadata])).toEqual([HOST_ADDRESS, NO_CONNECTION])
    const [flush = ''] = change([])
    expect(await successfulScripts(asRootOf(prefix), [flush])).toEqual([flush])
    expect(await probe(prefix, [OUTSIDE.metadata])).toEqual([HOST_ADDRESS])
  })

  test('a program cannot choose which UDP port it occupies on the host', async () => {
    const prefix = await openIn(await start(), 'one')
    let target = 1_000
    const isOccupied = async () => {
      // A new target each time, because the kernel remembers the source port of a connection.
      const send = `const socket = require('node:dgram').createSocket('udp4')
        socket.bind(${PORT}, () => socket.send('x', ${target++}, '${OUTSIDE.internet}', () => process.exit()))`
      await runProgram([...prefix, process.execPath, '-e', send])
      // pasta forwards packets in order, so it has forwarded the packet that was sent before the connection.
      await probe(prefix, [OUTSIDE.internet])
      return readFileSync('/proc/net/udp', 'utf8').includes(`:${PORT.toString(16).toUpperCase()} `)
    }
    await bed.listen(bed.outside)
    expect(await isOccupied()).toBe(false)
    await deleteRules(prefix, 'choose_source_port')
    await until(async () => expect(await isOccupied()).toBe(true))
  })

  test('half of the UDP ports that the kernel chooses as source ports are left to the host', async () => {
    await bed.listen(bed.outside)
    const prefix = await openIn(await start(), 'one')
    const send = `const { createSocket } = require('node:dgram')
      const sent = () => new Promise((done) => createSocket('udp4').send('x', 9, '${OUTSIDE.internet}', done))
      Promise.all(Array.from({ length: 50 }, sent)).then(() => process.exit())`
    await runProgram([...prefix, process.execPath, '-e', send])
    // pasta forwards packets in order, so it has forwarded those that were sent before the connection.
    await probe(prefix, [OUTSIDE.internet])
    const sockets = readFileSync('/proc/net/udp', 'utf8').split('\n').slice(1)
    const fields = sockets.map((line) => line.trim().split(/\s+/)).filter((parts) => parts[7] === String(USER))
    const ports = fields.map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16))
    expect(ports.length).toBeGreaterThan(20)
    expect(Math.max(...ports)).toBeLessThan(46_884)
  })

  test('a new public address of the host is refused too', async () => {
    await bed.listen()
    const prefix = await openIn(await start({ watchMs: 50 }), 'one')
    const address = '203.0.113.77'
    await runScript(`ip address add ${address}/32 dev testbed`)
    const rules = () => runProgram([...asRootOf(prefix), 'nft', 'list', 'chain', 'inet', 'shoal', 'output'])
    await until(async () => expect(await rules()).toContain(address))
    expect(await probe(prefix, [address])).toEqual([NO_CONNECTION])
    await deleteRules(prefix)
    expect(await probe(prefix, [address])).toEqual([address])
  })

  test('a public address of an interface without a link is refused too', async () => {
    await bed.listen()
    const address = '203.0.113.79'
    await runScript(`ip link add testbed2 type veth peer name testbed3
      ip address add ${address}/32 dev testbed2
      ip link set testbed2 up`)
    try {
      expect(networkInterfaces()).not.toHaveProperty('testbed2')
      const prefix = await openIn(await start(), 'one')
      expect(await probe(prefix, [address])).toEqual([NO_CONNECTION])
      await deleteRules(prefix)
      expect(await probe(prefix, [address])).toEqual([address])
    } finally {
      await runScript('ip link del testbed2')
    }
  })

  test('the record of a network is written only after a change', async () => {
    const stateDir = makeStateDir()
    const server = await start({ stateDir, watchMs: 20 })
    await server.open('one', 'squid')
    const record = join(stateDir, 'networks', shortHash('one'))
    const { mtimeMs } = statSync(record)
    await setTimeout(200)
    expect(statSync(record).mtimeMs).toBe(mtimeMs)
    await runScript('ip address add 203.0.113.78/32 dev testbed')
    await until(() => expect(readFileSync(record, 'utf8')).toContain('203.0.113.78'))
  })

  test('networks outlive a killed server; a later server keeps those it needs, with its own targets, and removes the rest', async () => {
    await bed.listen()
    await bed.listen(bed.outside)
    const stateDir = makeStateDir()
    const first = await start({ stateDir })
    const kept = await openIn(first, 'kept')
    await first.open('old', 'squid')
    await first.kill()
    expect(await probe(kept, [OUTSIDE.internet, '127.0.0.1'])).toEqual([HOST_ADDRESS, NO_CONNECTION])
    // As if the server had been killed before it recorded this network.
    const old = readdirSync(join(stateDir, 'networks')).find((name) => name !== shortHash('kept')) ?? ''
    rmSync(join(stateDir, 'networks', old))
    const second = await start({ stateDir, targets: service })
    await second.adopt(['kept', 'old'])
    expect(await openIn(second, 'kept')).toEqual(kept)
    expect(await probe(kept, ['127.0.0.1', OUTSIDE.internet, OUTSIDE.metadata])).toEqual([
      '127.0.0.1',
      HOST_ADDRESS,
      NO_CONNECTION,
    ])
    expect(networkIds(stateDir)).toHaveLength(1)
  })

  test('a server that is killed while it creates a network leaves nothing behind', async () => {
    const stateDir = makeStateDir()
    const server = await start({ stateDir })
    for (let index = 0; index < 5; index++) void server.open(`network ${index}`, 'squid').catch(() => undefined)
    await until(() => expect(processesOf(stateDir).length).toBeGreaterThan(0))
    await server.kill()
    const later = await start({ stateDir })
    await later.adopt([])
    expect([processesOf(stateDir), readdirSync(join(stateDir, 'pasta'))]).toEqual([[], []])
  })

  test('a network that is opened while a starting server removes others is kept', async () => {
    const stateDir = makeStateDir()
    const first = await start({ stateDir })
    await first.open('old', 'squid')
    await first.kill()
    const second = await start({ stateDir })
    await Promise.all([second.adopt([]), second.open('new', 'squid')])
    expect(networkIds(stateDir)).toHaveLength(1)
    await runProgram([...(await openIn(second, 'new')), 'true'])
  })

  test('a program whose arguments name a network does not prevent the removal of other networks', async () => {
    const stateDir = makeStateDir()
    const server = await start({ stateDir })
    const [program = '', ...args] = [...(await openIn(server, 'one')), ...server.sandbox]
    const loop = `while :; do sh -c 'sleep 10; :' sh ${stateDir}/pasta/0123456789; done`
    const hostile = spawn(program, [...args, '/bin/sh', '-c', loop], { stdio: 'ignore' })
    const hasStarted = () => processesOf(stateDir).some((found) => found.program === 'sh')
    try {
      await until(() => expect(hasStarted()).toBe(true))
      await server.adopt(['one'])
      expect(hasStarted()).toBe(true)
    } finally {
      // bubblewrap ends the sandbox.
      hostile.kill('SIGKILL')
      await until(() => expect(hasStarted()).toBe(false))
    }
  })

  test('pasta is started again when it is killed, with the same rules', async () => {
    await bed.listen(bed.outside)
    const stateDir = makeStateDir()
    const server = await start({ stateDir })
    const prefix = await openIn(server, 'one')
    // Pasta is restarted even if the server does not run.
    await server.kill()
    const pasta = processesOf(stateDir).filter(({ program }) => program === 'pasta')
    expect(pasta).toHaveLength(1)
    // The leader would start pasta again after a second, possibly before the probe connects.
    const leader = leaderOf(prefix)
    process.kill(leader, 'SIGSTOP')
    for (const { pid } of pasta) process.kill(pid, 'SIGKILL')
    expect(await probe(prefix, [OUTSIDE.internet])).toEqual([NO_CONNECTION])
    process.kill(leader, 'SIGCONT')
    await until(async () => expect(await probe(prefix, [OUTSIDE.internet])).toEqual([HOST_ADDRESS]))
    expect(await probe(prefix, [OUTSIDE.metadata])).toEqual([NO_CONNECTION])
  })

  test.each(['leader', 'holder'] as const)('a network whose %s was killed is replaced by a new one', async (role) => {
    await bed.listen(bed.outside)
    const stateDir = makeStateDir()
    const server = await start({ stateDir })
    const prefix = await openIn(server, 'one')
    const pid = role === 'leader' ? leaderOf(prefix) : holderOf(prefix)
    process.kill(pid, 'SIGKILL')
    await until(() => expect(findProcess(pid)).toBeNull())
    const next = await openIn(server, 'one')
    expect(next).not.toEqual(prefix)
    expect(await probe(next, [OUTSIDE.internet, OUTSIDE.metadata])).toEqual([HOST_ADDRESS, NO_CONNECTION])
    expect(networkIds(stateDir)).toHaveLength(1)
    expect(
      processesOf(stateDir)
        .map(({ program }) => program)
        .sort(),
    ).toEqual(['/bin/sh', '/bin/sh', 'pasta'])
  })

  test('on a host that cannot create the namespaces of programs, opening networks fails with the reason', async () => {
    const dir = makeStateDir()
    chmodSync(dir, 0o755)
    const unshare = findProgram('unshare') ?? ''
    copyFileSync(unshare, join(dir, 'unshare'))
    // Fails like a host that allows no network namespaces.
    const failing = `[ "\${2#--map-user=}" = "$2" ] || { echo 'unshare: no more namespaces' >&2; exit 1; }`
    writeFileSync(join(dir, 'failing'), `#!/bin/sh\n${failing}\nexec ${dir}/unshare "$@"\n`)
    chmodSync(join(dir, 'failing'), 0o755)
    const prepare = `${PREPARE_TUN}\nmount --bind ${dir}/failing ${unshare}`
    const stateDir = makeStateDir()
    await expect(start({ stateDir, prepare })).rejects.toThrow('no more namespaces')
    await until(() => expect(processesOf(stateDir)).toEqual([]))
  })

  test('a network that is opened twice at the same time exists once, and closing it leaves nothing behind', async () => {
    const stateDir = makeStateDir()
    const server = await start({ stateDir })
    const [one, again] = await Promise.all([server.open('one', 'squid'), server.open('one', 'squid')])
    expect(again).toEqual(one)
    expect(networkIds(stateDir)).toHaveLength(1)
    await Promise.all([server.close('one'), server.close('one'), server.close('unknown')])
    expect([
      processesOf(stateDir),
      readdirSync(join(stateDir, 'pasta')),
      readdirSync(join(stateDir, 'networks')),
    ]).toEqual([[], [], []])
    await expect(runProgram([...asUser, ...one, 'true'])).rejects.toThrow()
  })

  test('networks end when the directory of their installation is deleted, but a running server does not', async () => {
    const stateDir = makeStateDir()
    const server = await start({ stateDir, watchMs: 50 })
    const prefix = await openIn(server, 'one')
    rmSync(stateDir, { recursive: true })
    // Ends the pause between two checks of the directory.
    const children = readFileSync(`/proc/${holderOf(prefix)}/task/${holderOf(prefix)}/children`, 'utf8').trim()
    process.kill(Number(children), 'SIGKILL')
    await until(() => expect(processesOf(stateDir)).toEqual([]))
    // Wait until the next check of the rules has passed.
    await setTimeout(100)
    await server.detach()
  })
})

const networkIds = (stateDir: string) => [
  ...new Set(readdirSync(join(stateDir, 'pasta')).map((name) => name.split('.')[0])),
]
