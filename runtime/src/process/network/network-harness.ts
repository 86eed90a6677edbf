import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { type FileLock, waitForFileLock } from '../../file-lock.ts'
import { findProgram } from './find-program.ts'
import type { NetworkTargets } from './network.ts'
import { runProgram, runScript } from './run-script.ts'

/** True if tests can create network namespaces here. */
export const hasNamespaces = process.getuid?.() === 0 && ['ip', 'nft', 'nsenter'].every((name) => findProgram(name))

/** The port of every listener of the test bed, for IPv4 and IPv6. */
export const PORT = 47_311
/** A port on which listeners keep connections open. */
export const LASTING_PORT = 47_313

/** Addresses behind a router of the host, each with a listener. */
export const OUTSIDE = {
  internet: '203.0.113.213',
  metadata: '169.254.169.254',
  'link-local': '169.254.77.1',
  '10/8': '10.213.77.1',
  '172.16/12': '172.29.77.1',
  '192.168/16': '192.168.213.1',
  '100.64/10': '100.64.213.1',
}

/** The host's own address on the link to `OUTSIDE`. */
export const HOST_ADDRESS = '198.51.100.1'

/** Addresses to probe with `ALLOWED_TARGETS`. Squids may connect to all of them except the third, where only another port is allowed. */
export const ALLOWED_ADDRESSES = [OUTSIDE['10/8'], OUTSIDE['192.168/16'], OUTSIDE['172.16/12'], HOST_ADDRESS]
export const ALLOWED_TARGETS: NetworkTargets = {
  squid: [
    { host: `${OUTSIDE['10/8']}/24`, port: null },
    { host: OUTSIDE['192.168/16'], port: PORT },
    { host: OUTSIDE['172.16/12'], port: PORT + 1 },
    { host: HOST_ADDRESS, port: PORT },
  ],
  build: [{ host: '0.0.0.0/0', port: null }],
}

const OUTSIDE_ADDRESS = '198.51.100.2'

export type TestBed = {
  /** Starts a listener for the rest of the test: in the network of the command prefix, or on the host. */
  listen: (prefix?: string[]) => Promise<void>
  /** Like `listen`, but for queries: on port 53 over UDP and TCP, and on `PORT` over UDP. It responds with its own address. */
  listenForDns: (address: string, prefix?: string[]) => Promise<void>
  /** Command prefix that runs a program outside of the host. */
  outside: string[]
  /** Creates a state directory. */
  stateDir: () => string
  end: () => Promise<void>
}

const LOCK_MS = 240_000

/**
 * Reserves the test bed for the tests of the calling `describe`. Its addresses can exist only once on the host, so only one test file at
 * a time may use it.
 */
export function reserveTestBed(): void {
  let lock: FileLock | null = null
  beforeAll(async () => {
    lock = await waitForFileLock('/run/shoal-test-bed.lock', 'exclusive', LOCK_MS)
    if (!lock) throw new Error('Other tests have used the test bed for too long')
  }, LOCK_MS + 10_000)
  afterAll(() => lock?.release())
}

/** The name of the test bed's namespace, and of the host's end of its link. */
const id = 'testbed'

/** Creates a namespace that simulates other machines, with a route to each address of `OUTSIDE`. The test bed must be reserved. */
export async function openTestBed(): Promise<TestBed> {
  const addresses = Object.values(OUTSIDE)
  const children: ChildProcess[] = []
  const dirs: string[] = []
  const outside = ['nsenter', `--net=/run/netns/${id}`]
  // Removes the test bed that a killed test has left behind.
  await runScript(`ip link del ${id} 2>/dev/null || :\nip netns del ${id} 2>/dev/null || :`)
  await runScript(`
ip netns add ${id}
ip link add ${id} type veth peer name eth0 netns ${id}
ip address add ${HOST_ADDRESS}/30 dev ${id}
ip link set ${id} up
ip -n ${id} address add ${OUTSIDE_ADDRESS}/30 dev eth0
ip -n ${id} link set lo up
ip -n ${id} link set eth0 up
ip -n ${id} route add default via ${HOST_ADDRESS}
${addresses.map((address) => `ip -n ${id} address add ${address}/32 dev lo\nip route add ${address}/32 via ${OUTSIDE_ADDRESS}`).join('\n')}
`)
  const startListener = async (source: string, prefix: string[], args: string[] = []) => {
    const [program = '', ...rest] = [...prefix, process.execPath, '-e', source, ...args]
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    await once(child.stdout ?? child, 'data')
  }
  return {
    listen: (prefix = []) => startListener(LISTENER, prefix),
    listenForDns: (address, prefix = []) => startListener(DNS_LISTENER, prefix, [address]),
    outside,
    stateDir: () => {
      const dir = mkdtempSync(join(tmpdir(), 'shoal-network-'))
      dirs.push(dir)
      return dir
    },
    end: async () => {
      for (const child of children) child.kill('SIGKILL')
      await runScript(`ip -n ${id} link del eth0 || :\nip netns del ${id}`)
      for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
    },
  }
}

const LISTENER = `
const net = require('node:net')
const listen = (port, greet) => new Promise((done) =>
  net.createServer((socket) => greet(socket.on('error', () => undefined))).listen(port, '::', done))
const servers = [
  listen(${PORT}, (socket) => socket.end(socket.remoteAddress)),
  listen(${LASTING_PORT}, (socket) => socket.write(socket.remoteAddress)),
]
Promise.all(servers).then(() => console.log('ready'))
`

const DNS_LISTENER = `
const [address] = process.argv.slice(1)
const server = require('node:net').createServer((socket) => socket.on('error', () => undefined).end(address))
const listenOnUdp = (port) => new Promise((done) => {
  const socket = require('node:dgram').createSocket('udp4').bind(port, address, done)
  socket.on('message', (query, client) => socket.send(address, client.port, client.address))
})
Promise.all([listenOnUdp(53), listenOnUdp(${PORT}), new Promise((done) => server.listen(53, address, done))])
  .then(() => console.log('ready'))
`

/** The result of `probe` for an address that does not respond. */
export const NO_CONNECTION = 'no connection'

const PROBE = `
const net = require('node:net')
const [port, ...addresses] = process.argv.slice(1)
const probe = (host) => new Promise((done) => {
  const socket = net.connect({ host, port: Number(port) })
  let text = ''
  socket.setTimeout(5000, () => { done('${NO_CONNECTION}'); socket.destroy() })
  socket.on('data', (piece) => (text += piece)).on('end', () => done(text.replace('::ffff:', ''))).on('error', () => done('${NO_CONNECTION}'))
})
Promise.all(addresses.map(probe)).then((found) => { console.log(JSON.stringify(found)); process.exit() })
`

/** Connects to each address from the network of `prefix`. Resolves with the client address that each listener saw, or `NO_CONNECTION`. */
export async function probe(prefix: string[], addresses: string[], port = PORT): Promise<string[]> {
  return JSON.parse(await runProgram([...prefix, process.execPath, '-e', PROBE, String(port), ...addresses]))
}

const QUERY = `
const socket = require('node:dgram').createSocket('udp4')
const end = (text) => { console.log(text); process.exit() }
socket.on('message', (text) => end(String(text))).on('error', () => end('${NO_CONNECTION}'))
setTimeout(() => end('${NO_CONNECTION}'), 5000)
socket.send('query', Number(process.argv[2]), process.argv[1], (error) => error && end('${NO_CONNECTION}'))
`

/** Sends a UDP packet to an address from the network of `prefix`. Resolves with the response, or `NO_CONNECTION`. */
export async function query(prefix: string[], address: string, port = 53): Promise<string> {
  return (await runProgram([...prefix, process.execPath, '-e', QUERY, address, String(port)])).trim()
}

const HOLD = `
const net = require('node:net')
const [host, count] = process.argv.slice(1)
const connect = () => new Promise((done) => {
  net.connect({ host, port: ${LASTING_PORT} }).on('data', () => done(true)).on('error', () => done(false))
})
;(async () => {
  const opened = []
  while (opened.length < Number(count)) opened.push(await connect())
  console.log(JSON.stringify(opened))
})()
process.stdin.on('end', () => process.exit()).resume()
`

/**
 * Opens connections to an address from the network of `prefix`, one after the other, and keeps them open.
 * @returns `opened`: for each connection, whether it was accepted; `close`: a function that closes all of them
 */
export async function holdConnections(prefix: string[], address: string, count: number) {
  const [program, ...rest] = [...prefix, process.execPath, '-e', HOLD, address, String(count)]
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  const close = async () => {
    child.stdin.end()
    await ended
  }
  return { opened: JSON.parse(line) as boolean[], close }
}

/**
 * Runs a module with Node on a simulated host: a network namespace with its own interfaces, routes and rules. `prepare`: shell
 * commands that run before it, and may change its command line ("$@").
 * @returns the JSON value that it prints
 */
export async function runOnSimulatedHost(prepare: string, module: string, args: string[]): Promise<unknown> {
  const script = `mount -t sysfs none /sys\nip link set lo up\n${prepare}\nexec "$@"`
  const node = [process.execPath, '--input-type=module', '-e', module, ...args]
  return JSON.parse(await runProgram(['unshare', '--net', '--mount', '/bin/sh', '-ec', script, 'sh', ...node]))
}
