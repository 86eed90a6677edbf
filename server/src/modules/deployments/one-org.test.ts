import { createSimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { claimHost } from '../../installation/host-claim.ts'
import { limitToOneOrg } from './one-org.ts'
import { systemAction } from './system-action.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let first: Deployer
let second: Deployer
beforeEach(async () => {
  t = await startDeployApp()
  ;[first, second] = [await t.deployer(), await t.deployer()]
})
afterEach(() => t?.close())

/** Simulates the start of a worker on a host where squids share the network. */
async function startOnSharedNetwork(isAllowed = false): Promise<string[]> {
  await claimHost(t.app)
  const config = { ...t.app.config, SHOAL_ALLOW_SHARED_NETWORK: isAllowed }
  return await limitToOneOrg({ ...t.app, config, runtime: createSimRuntime({ sharesNetwork: true }) })
}

const refusal = {
  status: 405,
  body: {
    code: 'ONE_ORGANIZATION_ONLY',
    error: expect.stringMatching(/one organization only.*SHOAL_ALLOW_SHARED_NETWORK=1/) as string,
  },
}
const outcomeOf = (deploying: Promise<unknown>) =>
  deploying.then(
    () => 'accepted',
    (error: { body?: { code?: string } }) => error.body?.code ?? String(error),
  )
const squidParams = ({ org }: Deployer, reference: string) => ({ params: { code: org.code, reference } })

test('where squids share the network, only the first organization that deploys may deploy, even after a restart of the worker', async () => {
  expect(await startOnSharedNetwork()).toEqual([expect.stringContaining('Only one organization can deploy')])
  await first.deploy({}, { name: 'one', slot: 'v1' })
  await expect(second.deploy()).rejects.toMatchObject(refusal)
  await startOnSharedNetwork()
  await expect(second.deploy()).rejects.toMatchObject(refusal)
  await first.deploy({}, { name: 'two', slot: 'v1' })
})

test('another organization can deploy when the first has deleted its last version', async () => {
  await startOnSharedNetwork()
  await t.withWorker(async () => {
    await first.deployAndWait({}, { name: 'one', slot: 'v1' })
    await expect(second.deploy()).rejects.toMatchObject(refusal)
    await first.waitForEnd(await first.api.squids.delete(squidParams(first, 'one@v1')))
    await second.deploy()
    await expect(first.deploy()).rejects.toMatchObject(refusal)
  })
})

test('of two organizations that deploy concurrently, exactly one is accepted', async () => {
  await startOnSharedNetwork()
  const outcomes = await Promise.all([outcomeOf(first.deploy()), outcomeOf(second.deploy())])
  expect(outcomes.sort()).toEqual(['ONE_ORGANIZATION_ONLY', 'accepted'])
})

test('several organizations can deploy if the operator allows it, or if squids do not share the network', async () => {
  expect(await startOnSharedNetwork(true)).toEqual([])
  await first.deploy({}, { name: 'one', slot: 'v1' })
  await second.deploy()
  await startOnSharedNetwork()
  await expect(second.deploy()).rejects.toMatchObject(refusal)
  expect(await limitToOneOrg(t.app)).toEqual([])
  await second.deploy()
})

test('versions that another organization had before keep running, but cannot be deployed, rolled back or restarted', async () => {
  await claimHost(t.app)
  await t.withWorker(async () => {
    await first.deployAndWait({}, { name: 'one', slot: 'v1' })
    const deployment = await second.deployAndWait({}, { name: 'other', slot: 'v1' })
    const warnings = await startOnSharedNetwork()
    expect(warnings).toEqual([expect.any(String), expect.stringContaining('2 organizations have versions')])
    const other = squidParams(second, 'other@v1')
    await expect(second.deploy({}, { name: 'other', slot: 'v1' })).rejects.toMatchObject(refusal)
    const rollback = second.api.squids.rollback({ ...other, body: { deploymentId: deployment.id } })
    await expect(rollback).rejects.toMatchObject(refusal)
    await second.waitForEnd(await second.api.squids.hibernate(other))
    await expect(second.api.squids.restart(other)).rejects.toMatchObject(refusal)
    const { id } = await second.api.squids.get(other)
    expect(await systemAction(t.app, id, 'RESTART', 'debt paid')).toBe('nothing to do')
  })
})

test('of the deployments that were queued before the host was known to share its network, only those of the first organization succeed', async () => {
  const queued = [await first.deploy({}, { name: 'one', slot: 'v1' }), await second.deploy()] as const
  await startOnSharedNetwork()
  await t.withWorker(async () => {
    expect(await first.waitForEnd(queued[0])).toMatchObject({ status: 'OK', failed: 'NO' })
    const { body } = refusal
    expect(await second.waitForEnd(queued[1])).toMatchObject({ failed: 'REQUIREMENTS', failureReason: body.error })
  })
})
