import { startDevnet } from '../devnet/devnet.ts'
import { makeBareSquid } from './support/bare-squid.ts'
import { compare } from './support/compare.ts'
import { Deployer } from './support/deployer.ts'
import { type Target, latencyMs, throughput, wrk } from './support/load.ts'
import { startNginx } from '../nginx.ts'
import { type Bench, type Result, atLeast, atMost } from './support/result.ts'
import { findSocket } from './support/socket.ts'
import { copyExample, countQuery, makeLarge, newestQuery } from './support/squid.ts'

const rounds = 5
const seconds = 4

async function* measureRealSquid(deployer: Deployer, transfers: number): AsyncIterable<Result> {
  const squid = copyExample()
  makeLarge(squid)
  await deployer.deployUntilReady(squid, 'bench', transfers)
  const probe = `/graphql?query=${encodeURIComponent(countQuery)}`
  const socketPath = await findSocket(probe, (response) => response.includes(`"totalCount":${transfers}`))
  const { origin, pathname } = new URL(deployer.endpoint('erc20-transfers@bench'))
  const gateway: Target = { origin, path: pathname }
  const direct: Target = { origin: 'http://localhost', path: '/graphql', socketPath }
  // Warm-up: the first requests trigger compilation.
  for (const target of [gateway, direct]) await throughput(target, newestQuery, 4)
  const rates = await compare(
    rounds,
    () => throughput(gateway, newestQuery, seconds),
    () => throughput(direct, newestQuery, seconds),
  )
  yield atLeast(0.9, 'gateway, requests per second relative to direct', rates.ratio, 'ratio')
  const latencies = await compare(
    rounds,
    () => latencyMs(gateway, newestQuery, 1000),
    () => latencyMs(direct, newestQuery, 1000),
  )
  yield atMost(1, 'gateway, added median latency', latencies.difference, 'ms')
}

async function* measureBareSquid(deployer: Deployer): AsyncIterable<Result> {
  await deployer.deploy(makeBareSquid(), 'bench')
  const socketPath = await findSocket('/', (response) => response === 'x'.repeat(200))
  const nginx = await startNginx({ servers: [`unix:${socketPath}`], keepAlive: 32 })
  try {
    const url = deployer.endpoint('bare@bench')
    for (const target of [url, nginx.url]) await wrk(target, 2)
    const rates = await compare(
      rounds,
      () => wrk(url, seconds),
      () => wrk(nginx.url, seconds),
    )
    yield atLeast(0.5, 'gateway, bare upstream relative to nginx', rates.ratio, 'ratio')
  } finally {
    await nginx.stop()
  }
}

export const bench: Bench = {
  name: 'gateway',
  async *run() {
    await using devnet = await startDevnet({ transfers: 500 })
    const deployer = await Deployer.start(devnet.rpcUrl)
    try {
      yield* measureRealSquid(deployer, await devnet.chain.countTransfers())
      yield* measureBareSquid(deployer)
    } finally {
      await deployer.end()
    }
  },
}
