import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createServer } from 'node:http'
import { type Host, prepareHost } from '../../runtime/src/process/host.ts'
import { createProcessRuntime } from '../../runtime/src/process/process-driver.ts'
import { runProgram } from '../../runtime/src/process/network/run-script.ts'
import { compare } from './support/compare.ts'
import { type Bench, type Result, atLeast, atMost, median } from './support/result.ts'

const startRounds = 15
const networkCount = 200
/** The names of the networks that are open at the same time. */
const names = Array.from({ length: networkCount }, (_, index) => `version ${index}`)
const idleMs = 30_000
const ratioRounds = 5

/** A host and its runtime. Programs have their own networks or share the network of the host. `start`: see `openHost`. */
type BenchHost = { host: Host; start: (id: string) => Promise<number>; end: () => Promise<void> }

async function openHost(network: 'auto' | 'none', port: number): Promise<BenchHost> {
  const dir = mkdtempSync(join(tmpdir(), 'network-'))
  chmodSync(dir, 0o711)
  const options = { stateDir: join(dir, 'state'), imagesDir: join(dir, 'images') }
  const appDir = join(options.imagesDir, 'image/app')
  mkdirSync(appDir, { recursive: true })
  const nodeBinDir = dirname(process.execPath)
  writeFileSync(join(appDir, '../image.json'), JSON.stringify({ nodeBinDir, toolchainBinDir: nodeBinDir, sdk: null }))
  const targets = { squid: [{ host: '127.0.0.1', port }], build: [] }
  const host = await prepareHost({ stateDir: options.stateDir, network, targets })
  const runtime = createProcessRuntime({ ...options, host })
  await runtime.start()
  return {
    host,
    /** Starts a program, and resolves with the milliseconds from the request until the program runs. */
    start: async (id) => {
      const init = {
        name: 'init',
        command: ['date', '+%s%N'],
        env: {},
        resources: { cpuCores: 1, memoryBytes: 2 ** 28 },
        restart: 'never' as const,
        ports: [],
        stopGraceMs: 1_000,
      }
      const requestedAt = performance.timeOrigin + performance.now()
      await runtime.apply({ id, tenant: 'bench', version: 'bench', image: 'image', containers: [init] })
      for (;;) {
        const [line] = await runtime.tail(id, 'init', 1)
        if (line) return await runtime.remove(id).then(() => Number(line) / 1e6 - requestedAt)
        await delay(5)
      }
    },
    end: async () => {
      await runtime.close('stop')
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function* measureStart(own: BenchHost, shared: BenchHost): AsyncIterable<Result> {
  const times: [own: number, shared: number][] = []
  for (let round = 0; round < startRounds; round++) {
    // The runtime needs this time to create another spare network. In practice, more time passes between two starts.
    await delay(3_000)
    times.push([await own.start(`own ${round}`), await shared.start(`shared ${round}`)])
  }
  const difference = median(times.map(([own, shared]) => own - shared))
  yield atMost(20, 'network, added start of a first container', difference, 'ms')
}

/** The unit of times in /proc (`USER_HZ`), which is the same on all Linux systems. */
const ticksPerSecond = 100

/** Returns the CPU seconds of this process and of its child processes that have ended. */
function cpuSeconds(): number {
  const numbers = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return [11, 12, 13, 14].reduce((total, field) => total + Number(numbers[field]), 0) / ticksPerSecond
}

async function* measureMany({ host }: BenchHost): AsyncIterable<Result> {
  const ruleCount = async () => (await runProgram(['nft', 'list', 'ruleset'])).split('\n').length
  const rulesBefore = await ruleCount()
  const times: number[] = []
  const quarter = networkCount / 4
  for (const name of names) {
    const startedAt = performance.now()
    await host.network.open(name, 'squid', null)
    times.push(performance.now() - startedAt)
  }
  const growth = median(times.slice(-quarter)) / median(times.slice(0, quarter))
  yield atMost(
    2,
    `network, creation of the last ${quarter} of ${networkCount} relative to the first ${quarter}`,
    growth,
    'ratio',
  )
  yield atMost(0, `network, host rules added by ${networkCount}`, (await ruleCount()) - rulesBefore, 'lines')
  const before = cpuSeconds()
  await delay(idleMs)
  yield atMost(
    1,
    `network, CPU of ${networkCount} when idle`,
    ((cpuSeconds() - before) / (idleMs / 1000)) * 100,
    '% of a core',
  )
}

/** The source of a program that sends requests to a loopback port, and prints the number of responses per second. */
const loadProgram = `
const http = require('node:http')
const [port, connections] = process.argv.slice(1).map(Number)
const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
const end = Date.now() + 2000
let responses = 0
const send = () => new Promise((done, fail) => http.get({ port, host: '127.0.0.1', agent }, (response) => response.resume().on('end', done)).on('error', fail))
const work = async () => { while (Date.now() < end) { await send(); responses++ } }
Promise.all(Array.from({ length: connections }, work)).then(() => { console.log(responses / 2); process.exit() })
`

async function* measureTraffic({ host }: BenchHost, port: number): AsyncIterable<Result> {
  const prefix = await host.network.open('version 0', 'squid', null)
  for (const connections of [1, 16]) {
    const rate = async (prefix: string[]) =>
      Number(await runProgram([...prefix, process.execPath, '-e', loadProgram, String(port), String(connections)]))
    const { ratio } = await compare(
      ratioRounds,
      () => rate(prefix),
      () => rate([]),
    )
    yield atLeast(0.8, `network, requests to the host over ${connections} connections`, ratio, 'ratio')
  }
}

export const bench: Bench = {
  name: 'network',
  async *run() {
    const service = createServer((_, response) => response.end('x'.repeat(2_000)))
    await new Promise<void>((done) => service.listen(0, '127.0.0.1', done))
    const { port } = service.address() as { port: number }
    const [own, shared] = [await openHost('auto', port), await openHost('none', port)]
    try {
      if (own.host.network.kind !== 'namespace')
        throw new Error(`This machine cannot give each version its own network: ${own.host.limitations.join(' ')}`)
      yield* measureStart(own, shared)
      yield* measureMany(own)
      yield* measureTraffic(own, port)
    } finally {
      for (const name of names) await own.host.network.close(name)
      await own.end()
      await shared.end()
      service.close()
    }
  },
}
