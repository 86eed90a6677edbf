import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { cgroupNames, baseDirs } from '../../runtime/src/process/cgroup.ts'
import { INTERFACES, namespacesOf } from '../../runtime/src/process/network/namespaces.ts'
import { blockOf } from '../../runtime/src/process/network/rules.ts'
import { runProgram } from '../../runtime/src/process/network/run-script.ts'
import { type BenchHost, openBenchHost, printTime } from './support/bench-host.ts'
import { startIndexingServices } from './support/indexing.ts'
import { type Bench, type Result, atLeast, atMost, median } from './support/result.ts'

const versionCount = 200
/** The versions that listen, and that connect to each other. */
const sampleCount = 8
/** The starts that are compared with those in the network of the host, while all other versions run. */
const comparedStarts = 25
/** The runtime needs this time to create another spare network. In practice, more time passes between two starts. */
const pauseMs = 1_500
const maxConcurrentStarts = 4
const listenPort = 47_001

const names = Array.from({ length: versionCount }, (_, index) => `version-${index}`)
const sampled = names.slice(0, sampleCount)

/** A program that runs until it is stopped. */
const wait = ['sh', '-c', `${printTime.join(' ')}; exec sleep 1000000`]
/** A program without Shoal's preload, which would listen on loopback only. */
const listen = [
  'env',
  '-u',
  'NODE_OPTIONS',
  'node',
  '-e',
  `require('node:net').createServer((socket) => socket.end('reached')).listen(${listenPort}, '0.0.0.0', () => console.log(Date.now() + '000000'))`,
]

/** The source of a program that connects to addresses, and prints how many of them respond. */
const probe = `
const connect = (host) => new Promise((done) => {
  const socket = require('node:net').connect({ host, port: ${listenPort}, timeout: 2000 })
  socket.on('data', () => done(1)).on('timeout', () => done(0)).on('error', () => done(0))
})
Promise.all(process.argv.slice(1).map(connect)).then((found) => { console.log(found.reduce((a, b) => a + b, 0)); process.exit() })
`

async function* startAll(own: BenchHost, shared: BenchHost): AsyncIterable<Result> {
  const remaining = names.slice(0, -comparedStarts).values()
  const startNext = async () => {
    for (const name of remaining) await own.start(name, sampled.includes(name) ? listen : wait)
  }
  await Promise.all(Array.from({ length: maxConcurrentStarts }, startNext))
  const times: { own: number; shared: number }[] = []
  for (const name of names.slice(-comparedStarts)) {
    await delay(pauseMs)
    times.push({ own: await own.start(name, wait), shared: await shared.start(name, wait) })
  }
  const running = (await own.running()).length
  yield atLeast(versionCount, `versions, running of ${versionCount}`, running, 'versions')
  const added = median(times.map((time) => time.own - time.shared))
  yield atMost(20, `versions, added start of one of ${versionCount} by its network`, added, 'ms')
}

async function* checkIsolation({ host }: BenchHost): AsyncIterable<Result> {
  const prefixes = await Promise.all(sampled.map((name) => host.network.open(name, 'squid', host.uidOf(name))))
  const addresses = await Promise.all(
    prefixes.map(async (prefix) => {
      const output = await runProgram([...prefix, 'ip', '-4', '-o', 'address', 'show', 'dev', 'eth0'])
      return /inet (\S+)\//.exec(output)?.[1] ?? ''
    }),
  )
  if (new Set(addresses).size < sampleCount) throw new Error(`The addresses are not unique: ${addresses.join(' ')}`)
  const reached = async (targetsOf: (address: string) => string[]) => {
    const counts = prefixes.map((prefix, index) =>
      runProgram([...prefix, process.execPath, '-e', probe, ...targetsOf(addresses[index] ?? '')]),
    )
    return (await Promise.all(counts)).reduce((total, count) => total + Number(count), 0)
  }
  const itself = await reached(() => ['127.0.0.1'])
  yield atLeast(sampleCount, 'versions, number that can connect to their own port', itself, 'versions')
  const others = await reached((address) => addresses.filter((other) => other !== address))
  yield atMost(0, `versions, pairs of ${sampleCount} that can connect to each other`, others, 'pairs')
}

/** Returns what an installation has left on the host. */
async function leftovers({ host, stateDir }: BenchHost, number: number): Promise<string[]> {
  const { table, prefix } = blockOf(number)
  const tables = (await runProgram(['nft', 'list', 'tables'])).split('\n')
  const mounts = globSync('/proc/[0-9]*/mountinfo').flatMap((file) => readLines(file))
  const loopFiles = globSync('/sys/block/loop*/loop/backing_file').flatMap((file) => readLines(file))
  return [
    ...namespacesOf(host.label),
    ...readdirSync(INTERFACES).filter((name) => name.startsWith(prefix)),
    ...tables.filter((line) => line.endsWith(` ${table}`)),
    ...(host.cgroups ? [...cgroupNames(host.cgroups), ...baseDirs(host.cgroups).filter((dir) => existsSync(dir))] : []),
    ...[...mounts, ...loopFiles].filter((line) => line.includes(stateDir)),
  ]
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    // The process or device no longer exists.
    return []
  }
}

/** Returns the number of an installation of this host. */
function numberOf({ stateDir }: BenchHost): number {
  const numbers: Record<string, number> = JSON.parse(readFileSync(join('/var/lib/shoal', 'installations.json'), 'utf8'))
  const number = numbers[stateDir]
  if (number === undefined) throw new Error(`${stateDir} has no number`)
  return number
}

async function removeAll(bench: BenchHost): Promise<void> {
  const remaining = names.values()
  const removeNext = async () => {
    for (const name of remaining) await bench.remove(name)
  }
  await Promise.all(Array.from({ length: maxConcurrentStarts }, removeNext))
}

export const bench: Bench = {
  name: 'versions',
  async *run() {
    const indexing = await startIndexingServices()
    const [own, shared] = [await openBenchHost('auto', indexing.ports), await openBenchHost('none', indexing.ports)]
    const number = numberOf(own)
    try {
      if (own.host.network.kind !== 'namespace')
        throw new Error(`This machine cannot give each version its own network: ${own.host.limitations.join(' ')}`)
      yield* startAll(own, shared)
      yield* checkIsolation(own)
      const [name = ''] = sampled
      const ratio = await indexing.ratio(await own.host.network.open(name, 'squid', own.host.uidOf(name)))
      yield atLeast(0.8, 'versions, indexing speed in a network relative to the host', ratio, 'ratio')
      const found = await leftovers(own, number)
      yield atLeast(
        versionCount,
        'versions, their namespaces, interfaces, cgroups, mounts and rules',
        found.length,
        'entries',
      )
      await removeAll(own)
    } finally {
      await own.end()
      await shared.end()
      await indexing.end()
    }
    const left = await leftovers(own, number)
    if (left.length > 0) console.error(left.join('\n'))
    yield atMost(0, 'versions, the same resources after their removal', left.length, 'entries')
  },
}
