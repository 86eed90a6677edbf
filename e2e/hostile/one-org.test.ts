import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bareManifest, makeBareSquid } from '../support/bare-squid.ts'
import { deploy } from '../support/deploy.ts'
import { addOrg, type Org } from '../support/org.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'

let shoal: Shoal
let project: string
let first: Org
let second: Org

beforeAll(async () => {
  shoal = await startShoal({ SHOAL_NETWORK: 'none', SHOAL_ALLOW_SHARED_NETWORK: 'false' })
  project = makeBareSquid('plain', { 'squid.yaml': bareManifest('plain') })
  ;[first, second] = [await addOrg(shoal, 'first'), await addOrg(shoal, 'second')]
})

afterAll(async () => {
  await shoal?.end()
  if (project) rmSync(dirname(project), { recursive: true, force: true })
})

const deployTo = (org: Org) => deploy({ shoal, ...org, project }, { name: 'plain', slot: 'v1' })
const refusal = { status: 405, body: { code: 'ONE_ORGANIZATION_ONLY' } }

test('a server whose squids share the network of the host logs a warning and deploys for only one organization, even after a restart', async () => {
  for (const text of ['Squids and builds use the network of this host', 'Only one organization can deploy'])
    expect(shoal.output()).toContain(text)
  await deployTo(first)
  await expect(deployTo(second)).rejects.toMatchObject(refusal)
  await shoal.kill()
  await shoal.start()
  await expect(deployTo(second)).rejects.toMatchObject(refusal)
})

test('after a restart with SHOAL_ALLOW_SHARED_NETWORK=true, the server deploys for several organizations', async () => {
  await shoal.kill()
  shoal.settings['SHOAL_ALLOW_SHARED_NETWORK'] = 'true'
  await shoal.start()
  expect(await deployTo(second)).toBeGreaterThan(0)
})
