import type { Client, Contract } from '@shoal/contract'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { addOrg, type Org } from './org.ts'
import { lendDependencies, useCompiledCode, type Prebuilt } from './prebuilt.ts'
import { startShoal, type Shoal } from './shoal.ts'

const example = join(import.meta.dirname, '../../examples/erc20-transfers')

/** A server, a chain, and one paying organization whose admin has a token and a copy of the example squid. */
export type Day = {
  shoal: Shoal
  devnet: Devnet
  org: string
  token: string
  api: Client<Contract>
  /** A copy of the example squid that tests may change. */
  project: string
  endpointOf: (reference: string) => string
  /** Creates another organization with its own admin. */
  addOrg: (code: string) => Promise<Org>
  end: () => Promise<void>
}

type DayOptions = {
  transfers?: number
  env?: Record<string, string>
  /** For a server that must know the chain's address before the chain is started. */
  devnetPort?: number
  /** The parts that are not built, by default all. Use less in tests that change the squid's code or test its build. */
  prebuilt?: Prebuilt
}

export async function startDay(options: DayOptions = {}): Promise<Day> {
  const { prebuilt = 'dependencies and code' } = options
  const [shoal, devnet] = await Promise.all([
    startShoal(options.env),
    startDevnet({ port: options.devnetPort ?? 0, transfers: options.transfers ?? 25, isStreaming: false }),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'shoal-squid-'))
  const project = join(folder, 'erc20-transfers')
  cpSync(example, project, { recursive: true, filter: (path) => !/\/(node_modules|lib|builds)(\/|$)/.test(path) })
  if (prebuilt === 'dependencies and code') useCompiledCode(project)
  const addTenant = async (code: string) => {
    const made = await addOrg(shoal, code)
    if (prebuilt !== 'nothing') lendDependencies(shoal.dataDir, made.id)
    return made
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
    addOrg: addTenant,
    end: async () => {
      rmSync(folder, { recursive: true, force: true })
      await devnet.stop()
      await shoal.end()
    },
  }
}
