import type { Client, Contract } from '@shoal/contract'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { addOrg, type Org } from './org.ts'
import { addDependenciesToCache, useCompiledCode, type Prebuilt } from './prebuilt.ts'
import { freePort } from './free-port.ts'
import { startShoal, type Shoal } from './shoal.ts'

const example = join(import.meta.dirname, '../../examples/erc20-transfers')

/** A server, a chain, and one active organization. `token` and `api` belong to its administrator. */
export type TestCloud = {
  shoal: Shoal
  devnet: Devnet
  org: string
  token: string
  api: Client<Contract>
  /** A copy of the example squid that tests may change. */
  project: string
  /** Returns the URL of the GraphQL API of a version, such as `erc20-transfers@v1`. */
  endpointOf: (reference: string) => string
  /** Sets the secret RPC_URL of the example squid to the URL of the chain. */
  setRpcUrl: () => Promise<void>
  /** Creates another organization with its own administrator. */
  addOrg: (code: string) => Promise<Org>
  end: () => Promise<void>
}

type TestCloudOptions = {
  /** The number of transfers on the chain at the start. Default: 25. */
  transfers?: number
  /** Further settings of the server. */
  env?: Record<string, string>
  /** The port of the chain, if settings of the server contain it. Default: a free port. */
  devnetPort?: number
  /** The prebuilt parts of the squid to reuse; by default all. Reuse fewer in tests that change its code or test its build. */
  prebuilt?: Prebuilt
}

/** Starts a server and a chain, and creates an organization. `end` stops both. */
export async function startTestCloud(options: TestCloudOptions = {}): Promise<TestCloud> {
  const { prebuilt = 'dependencies and code' } = options
  const port = options.devnetPort ?? (await freePort())
  // Squids read the chain directly, on loopback, where they can reach only ports that the operator allows.
  const env = { SHOAL_NETWORK_ALLOW: `127.0.0.1:${port}`, ...options.env }
  const [shoal, devnet] = await Promise.all([
    startShoal(env),
    startDevnet({ port, transfers: options.transfers ?? 25, isStreaming: false }),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'shoal-squid-'))
  const project = join(folder, 'erc20-transfers')
  cpSync(example, project, { recursive: true, filter: (path) => !/\/(node_modules|lib|builds)(\/|$)/.test(path) })
  if (prebuilt === 'dependencies and code') useCompiledCode(project)
  const addTenant = async (code: string) => {
    const tenant = await addOrg(shoal, code)
    if (prebuilt !== 'nothing') addDependenciesToCache(shoal.dataDir, tenant.id)
    return tenant
  }
  const { org, token, api } = await addTenant('acme-labs')
  return {
    shoal,
    devnet,
    org,
    token,
    api,
    project,
    endpointOf: (reference) => `${shoal.gatewayUrl}/${org}/${reference}/api/graphql`,
    setRpcUrl: async () => {
      const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: devnet.rpcUrl }]
      await api.secrets.change({ params: { code: org }, body: { secrets } })
    },
    addOrg: addTenant,
    end: async () => {
      rmSync(folder, { recursive: true, force: true })
      await devnet.stop()
      await shoal.end()
    },
  }
}
