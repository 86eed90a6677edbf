import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { createServer } from 'node:http'
import { runProgram } from '../../runtime/src/process/network/run-script.ts'
import { type BenchHost, openBenchHost, printTime } from './support/bench-host.ts'
import { compare } from './support/compare.ts'
import { type Bench, type Result, atLeast, atMost, median } from './support/result.ts'

const startRounds = 15
const networkCount = 200
/** The names of the networks that are open at the same time. */
const names = Array.from({ length: networkCount }, (_, index) => `version ${index}`)
const idleMs = 30_000
const ratioRounds = 5

async function startOnce({ start, remove }: BenchHost, id: string): Promise<number> {
  const ms = await start(id, printTime)
  await remove(id)
  return ms
}

async function* measureStart(own: BenchHost, shared: BenchHost): AsyncIterable<Result> {
  const times: [own: number, shared: number][] = []
  for (let round = 0; round < startRounds; round++) {
    // The runtime needs this time to create another spare network. In practice, more time passes between two starts.
    await delay(3_000)
    times.push([await startOnce(own, `own-${round}`), await startOnce(shared, `shared-${round}`)])
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
    const [own, shared] = [await openBenchHost('auto', [port]), await openBenchHost('none', [port])]
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
