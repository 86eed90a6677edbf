import type { Client, Contract } from '@shoal/contract'
import { renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { apiThatReturns, makeBareSquid } from '../support/bare-squid.ts'
import { addOrg } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { until } from '../support/until.ts'
import { promisedLimitMs } from '../support/tier.ts'

// These tests check the output of the unmodified public client when a squid cannot be deployed.

const org = 'acme-labs'
const options = ['-o', org, '-s', 'v1', '--no-interactive', '--no-stream-logs', '--allow-manifest-override']
const folders: string[] = []
let shoal: Shoal
let sqd: PublicClient
let api: Client<Contract>

beforeAll(async () => {
  ;[shoal, sqd] = await Promise.all([startShoal(), openClient()])
  const admin = await addOrg(shoal, org)
  const { token } = admin
  api = admin.api
  expect((await sqd('auth', '-k', token, '-h', `${shoal.url}/api`)).code).toBe(0)
})

afterAll(async () => {
  sqd?.close()
  for (const folder of folders) rmSync(dirname(folder), { recursive: true, force: true })
  await shoal?.end()
})

function makeSquid(name: string, files?: Record<string, string>): string {
  const folder = makeBareSquid(name, files)
  folders.push(folder)
  return folder
}

test('without a lockfile, the client prints the commands to create one, and the name of the squid stays available', async () => {
  const folder = makeSquid('unlocked')
  const lockfile = join(folder, 'package-lock.json')
  renameSync(lockfile, `${folder}.lock`)
  const rejected = await sqd('deploy', folder, ...options)
  expect(rejected.stdout + rejected.stderr).toMatch(/`npm install` .*`pnpm install` .*`yarn install`/)
  expect(rejected.code).toBe(2)
  expect((await sqd('list', '-o', org)).stdout).not.toContain('unlocked')
  expect(await api.squids.list({ params: { code: org } })).toEqual([])
  expect((await sqd('view', '-r', `${org}/unlocked@v1`)).code).toBe(2)

  renameSync(`${folder}.lock`, lockfile)
  // This command would need --allow-update if the failed deployment had created a version.
  const deployed = await sqd('deploy', folder, ...options)
  expect(deployed.stdout).toContain('A new squid')
  expect(deployed.code).toBe(0)
})

test('while an api fails, the client prints its response and last lines within 15 seconds, and continues to wait', async () => {
  const folder = makeSquid('failing', { 'api.js': apiThatReturns(500, 'no schema here') })
  const deploying = sqd.startInTerminal('deploy', folder, ...options)
  try {
    const waiting = 'Waiting for api: It responded with HTTP status 500. The response begins with: no schema here'
    await until(() => deploying.output().includes('Starting the programs'), 'the programs are started', 120_000)
    await until(() => deploying.output().includes(waiting), 'the client prints what the deployment waits for')
    await until(() => deploying.output().includes('api | serving 500'), 'the client prints the last lines of the api')
    await until(() => deploying.output().split(waiting).length > 2, 'the client prints the reason again')
  } finally {
    await deploying.stop()
  }
  const { lastDeploy } = await api.squids.get({ params: { code: org, reference: 'failing@v1' } })
  const { logs } = await api.deployments.get({ params: { code: org, id: String(lastDeploy?.id) } })
  const secondOf = (beginning: string) =>
    Date.parse(logs.find(({ message }) => message.startsWith(beginning))?.at ?? '') / 1000
  expect(secondOf('Waiting for api') - secondOf('Starting the programs')).toBeLessThanOrEqual(
    promisedLimitMs(15_000) / 1000,
  )
})
