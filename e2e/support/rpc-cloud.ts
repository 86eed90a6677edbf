import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Processor, Squid } from '@shoal/contract'
import { startTestCloud, type TestCloud } from './test-cloud.ts'
import { deploy, waitForDeployment } from './deploy.ts'
import type { Prebuilt } from './prebuilt.ts'
import { freePort } from './free-port.ts'

/** The chain that the manifest names. Anvil serves it. */
const chain = 'eth-sepolia'

export type RpcCloud = TestCloud & {
  /** Changes a file of the project. */
  edit: (file: string, change: (text: string) => string) => void
  get: (slot: string) => Promise<Squid>
  /** Returns the first processor of the version. */
  processor: (slot: string) => Promise<Processor | undefined>
  /** Deploys the project to the slot. @throws if the deployment fails */
  deployTo: (slot: string) => Promise<void>
}

/**
 * Starts a cloud whose squid reads its chain through Shoal's RPC gateway. Its squids can reach the chain and `allowedPorts` on loopback.
 * @param prebuilt as for `startTestCloud`
 */
export async function startRpcCloud(prebuilt: Prebuilt, allowedPorts: number[] = []): Promise<RpcCloud> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-source-'))
  const config = join(folder, 'rpc.json')
  const devnetPort = await freePort()
  const upstreams = [{ name: 'anvil', url: `http://127.0.0.1:${devnetPort}`, archive: true }]
  writeFileSync(config, JSON.stringify({ chains: { [chain]: { chainId: 31_337, upstreams } } }))
  const allowed = [devnetPort, ...allowedPorts].map((port) => `127.0.0.1:${port}`).join()
  const env = { SHOAL_RPC_CONFIG: config, SHOAL_NETWORK_ALLOW: allowed }
  const cloud = await startTestCloud({ env, devnetPort, prebuilt })
  const edit = (file: string, change: (text: string) => string): void => {
    const path = join(cloud.project, file)
    writeFileSync(path, change(readFileSync(path, 'utf8')))
  }
  edit('squid.yaml', (text) =>
    text
      .replace('RPC_URL: ${{ secrets.RPC_URL }}', `RPC_URL: \${{ addons.rpc.${chain}.http }}`)
      .replace('    postgres:\n', `    postgres:\n    rpc: [${chain}.http]\n`),
  )
  const get = (slot: string) =>
    cloud.api.squids.get({ params: { code: cloud.org, reference: `erc20-transfers@${slot}` } })
  return {
    ...cloud,
    edit,
    get,
    processor: async (slot) => (await get(slot)).processors?.[0],
    deployTo: async (slot) => {
      const { failureReason } = await waitForDeployment(cloud, await deploy(cloud, { slot }))
      if (failureReason) throw new Error(failureReason)
    },
    end: async () => {
      rmSync(folder, { recursive: true, force: true })
      await cloud.end()
    },
  }
}
