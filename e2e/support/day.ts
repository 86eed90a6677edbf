import type { Client, Contract } from '@shoal/contract'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
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
  addOrg: (code: string) => Promise<{ token: string; api: Client<Contract> }>
  end: () => Promise<void>
}

type DayOptions = {
  transfers?: number
  env?: Record<string, string>
  /** For a server that must know the chain's address before the chain is started. */
  devnetPort?: number
}

export async function startDay(options: DayOptions = {}): Promise<Day> {
  const [shoal, devnet] = await Promise.all([
    startShoal(options.env),
    startDevnet({ port: options.devnetPort ?? 0, transfers: options.transfers ?? 25, isStreaming: false }),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'shoal-squid-'))
  const project = join(folder, 'erc20-transfers')
  cpSync(example, project, { recursive: true, filter: (path) => !/\/(node_modules|lib|builds)(\/|$)/.test(path) })
  const addOrg = async (code: string) => {
    const email = `admin@${code}.dev`
    await shoal.cli('user', 'add', '--email', email, '--name', 'Mira', '--password', 'correct-horse')
    await shoal.cli('org', 'add', '--code', code, '--name', code, '--email', email)
    await shoal.cli('org', 'set-status', '--code', code, '--status', 'ACTIVE')
    const { token } = await shoal.cli<{ token: string }>('token', 'add', '--email', email, '--name', 'laptop')
    return { token, api: shoal.as(token) }
  }
  const org = 'acme-labs'
  const admin = await addOrg(org)
  return {
    shoal,
    devnet,
    org,
    ...admin,
    project,
    endpointOf: (reference) => `${shoal.gatewayUrl}/${org}/${reference}/api/graphql`,
    addOrg,
    end: async () => {
      rmSync(folder, { recursive: true, force: true })
      await devnet.stop()
      await shoal.end()
    },
  }
}
