import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { startDevnet } from '../devnet/devnet.ts'
import { deployByHand } from './support/by-hand.ts'
import { Deployer } from './support/deployer.ts'
import { type Bench, atMost, median } from './support/result.ts'
import { copyExample } from './support/squid.ts'

const rounds = 3

/** The durations of one round, in seconds. */
type Round = { byHand: number; cold: number; redeployed: number }

/** Measures three deployments on the same chain: by hand, to a new Shoal without caches, and to the same Shoal with one source file changed. */
async function measure(rpcUrl: string, transfers: number): Promise<Round> {
  const byHand = await deployByHand(rpcUrl, transfers)
  const deployer = await Deployer.start(rpcUrl)
  try {
    const squid = copyExample()
    const cold = await deployer.deployUntilReady(squid, 'cold', transfers)
    appendFileSync(join(squid, 'src/mapping.ts'), '// changed\n')
    // Another slot ensures that a response comes from the new version.
    const redeployed = await deployer.deployUntilReady(squid, 'warm', transfers)
    return { byHand, cold, redeployed }
  } finally {
    await deployer.end()
  }
}

export const bench: Bench = {
  name: 'deploy',
  async *run() {
    await using devnet = await startDevnet({ transfers: 500 })
    const transfers = await devnet.chain.countTransfers()
    const measured: Round[] = []
    for (let round = 0; round < rounds; round++) {
      const times = await measure(devnet.rpcUrl, transfers)
      const [byHand, cold, redeployed] = [times.byHand, times.cold, times.redeployed].map((seconds) =>
        seconds.toFixed(1),
      )
      console.error(`  by hand ${byHand} s, cold ${cold} s, unchanged dependencies ${redeployed} s`)
      measured.push(times)
    }
    const cold = median(measured.map((round) => round.cold / round.byHand))
    const redeployed = median(measured.map((round) => round.redeployed / round.cold))
    yield atMost(1.15, 'deploy, cold relative to by hand', cold, 'ratio')
    yield atMost(0.35, 'deploy, unchanged dependencies relative to cold', redeployed, 'ratio')
  },
}
