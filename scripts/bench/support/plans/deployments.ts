import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contract, createClient } from '../../../../contract/src/index.ts'
import { deploy, waitForDeployment } from '../../../../e2e/support/deploy.ts'
import { squidFiles } from '../../../../server/src/modules/deployments/testing/squid-files.ts'
import type { OrgUnderTest } from './calls.ts'

type Targets = { url: string; gatewayUrl: string; org: OrgUnderTest }

/** Writes a squid for the sim runtime. It has no database, since the benchmark has 10,000 versions, more than any Postgres has connections for. */
function writeSquid(): string {
  const project = mkdtempSync(join(tmpdir(), 'squid-'))
  for (const [file, content] of Object.entries(squidFiles({ hasPostgres: false })))
    writeFileSync(join(project, file), content)
  return project
}

const rpcCall = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })

/** Deploys a version, sends requests to it, to `/rpc` and to `/portal`, and performs every change on it: update, restart, rollback, hibernation, deletion. */
export async function deployAndChange({ url, gatewayUrl, org: { code, token } }: Targets): Promise<void> {
  const api = createClient(contract, { baseUrl: `${url}/api`, token: () => token })
  const deployer = { shoal: { url }, org: code, token, api, project: writeSquid() }
  const untilFinished = async (id: number) => {
    const deployment = await waitForDeployment(deployer, id)
    if (deployment.failed !== 'NO') throw new Error(`Deployment ${id} failed: ${deployment.failureReason}`)
  }
  const options = { name: 'measured', slot: 'v1', tag: 'live' }
  const first = await deploy(deployer, options)
  await untilFinished(first)
  await untilFinished(await deploy(deployer, options))
  // The filled tokens do not have the hash of their text.
  const rpc = await api.rpc.createToken({ params: { code } })
  for (const path of [`/${code}/measured@v1/api/graphql`, `/rpc/devnet/${rpc.token}`, '/portal/datasets/devnet/head'])
    await fetch(`${gatewayUrl}${path}`, { method: 'POST', body: rpcCall }).then((response) => response.text())
  const params = { code, reference: 'measured@v1' }
  const changes = [
    () => api.squids.restart({ params }),
    () => api.squids.rollback({ params, body: { deploymentId: first } }),
    () => api.squids.hibernate({ params }),
    () => api.squids.delete({ params }),
  ]
  for (const change of changes) await untilFinished((await change()).id)
  // Repeats the deletion, like a client that received no response. More than a minute later, the server returns 404.
  await api.squids.delete({ params }).catch(() => undefined)
}
