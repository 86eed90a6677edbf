import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../e2e/support/free-port.ts'
import { startDevnet } from '../devnet/devnet.ts'
import { CannotBuild } from '../kubernetes/go.ts'
import { type DemoCluster, startDemoCluster } from '../kubernetes/demo-cluster.ts'
import { Deployer } from './support/deployer.ts'
import { type Bench, type Result, atMost, median } from './support/result.ts'
import { copyExample } from './support/squid.ts'

const rounds = 3

/** The durations of one round in seconds, and the megabytes that the deployment with unchanged dependencies uploaded to the registry. */
type Round = { process: number; cold: number; redeployed: number; uploadedMb: number }

type Chain = { port: number; rpcUrl: string; transfers: number }

/**
 * Measures three deployments of the example: to a new Shoal on this machine, to a new Shoal on a new cluster, and to that again with one
 * source file changed. @throws CannotBuild if this machine cannot run a cluster
 */
async function measure(chain: Chain): Promise<Round> {
  const process = await measureProcessDriver(chain)
  // A new cluster for each round, since its nodes keep the images that they have pulled.
  const cluster = await startDemoCluster(chain.port)
  const leftovers: string[] = []
  let round: Round
  try {
    round = { process, ...(await measureCluster(cluster, chain)) }
  } finally {
    leftovers.push(...(await cluster.end()))
  }
  if (leftovers.length > 0) throw new Error(`The cluster left this on the machine:\n${leftovers.join('\n')}`)
  return round
}

async function measureCluster(
  cluster: DemoCluster,
  { transfers }: Chain,
): Promise<Pick<Round, 'cold' | 'redeployed' | 'uploadedMb'>> {
  const { SHOAL_DATA_DIR: _, DATABASE_URL: __, ...env } = cluster.env
  const gatewayUrl = `http://${cluster.host}:${await freePort()}/{org}`
  const deployer = await Deployer.start(cluster.chainUrl, { ...env, SHOAL_GATEWAY_URL: gatewayUrl })
  try {
    const squid = copyExample()
    const cold = await deployer.deployUntilReady(squid, 'cold', transfers)
    appendFileSync(join(squid, 'src/mapping.ts'), '// changed\n')
    const redeployed = await deployer.deployUntilReady(squid, 'warm', transfers)
    return { cold, redeployed, uploadedMb: await lastUploadMb(deployer) }
  } finally {
    await deployer.end()
  }
}

async function measureProcessDriver({ rpcUrl, transfers }: Chain): Promise<number> {
  const deployer = await Deployer.start(rpcUrl)
  try {
    return await deployer.deployUntilReady(copyExample(), 'cold', transfers)
  } finally {
    await deployer.end()
  }
}

/** Returns the megabytes that the newest deployment uploaded, from its log. */
async function lastUploadMb(deployer: Deployer): Promise<number> {
  const params = { code: deployer.org }
  const [newest] = await deployer.client().deployments.list({ params, query: {} })
  const { logs } = await deployer.client().deployments.get({ params: { ...params, id: String(newest?.id) } })
  const lines = logs.map(({ message }) => /Image pushed: ([\d.]+) MB uploaded/.exec(message)?.[1])
  const uploaded = lines.find((line) => line !== undefined)
  if (uploaded === undefined) throw new Error('The log of the deployment does not say how much was uploaded')
  return Number(uploaded)
}

async function* measureRounds(): AsyncIterable<Result> {
  await using devnet = await startDevnet({ transfers: 500 })
  const chain: Chain = {
    port: Number(new URL(devnet.rpcUrl).port),
    rpcUrl: devnet.rpcUrl,
    transfers: await devnet.chain.countTransfers(),
  }
  const measured: Round[] = []
  for (let round = 0; round < rounds; round++) {
    const times = await measure(chain)
    const [process, cold, redeployed] = [times.process, times.cold, times.redeployed].map((seconds) =>
      seconds.toFixed(1),
    )
    console.error(
      `  this machine ${process} s, cluster ${cold} s, unchanged dependencies ${redeployed} s, ${times.uploadedMb} MB uploaded`,
    )
    measured.push(times)
  }
  const medianOf = (value: (round: Round) => number) => median(measured.map(value))
  yield atMost(
    1.3,
    'deploy-cluster, cold relative to one machine',
    medianOf((round) => round.cold / round.process),
    'ratio',
  )
  yield atMost(
    0.4,
    'deploy-cluster, unchanged dependencies relative to cold',
    medianOf((round) => round.redeployed / round.cold),
    'ratio',
  )
  yield atMost(
    1,
    'deploy-cluster, upload with unchanged dependencies',
    medianOf((round) => round.uploadedMb),
    'MB',
  )
}

export const bench: Bench = {
  name: 'deploy-cluster',
  async *run() {
    try {
      yield* measureRounds()
    } catch (error) {
      if (!(error instanceof CannotBuild)) throw error
      console.error(`The benchmark deploy-cluster is skipped: ${error.message}`)
    }
  },
}
