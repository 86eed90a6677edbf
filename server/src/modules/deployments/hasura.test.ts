import { BEHAVIOUR_VARIABLE, type SimBehaviour } from '@shoal/runtime'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

/** An installation whose operator has named a program for the addon `hasura`. */
let t: DeployApp
let d: Deployer
let worker: ReturnType<DeployApp['startWorker']>
beforeAll(async () => {
  t = await startDeployApp({ env: { SHOAL_HASURA_PROGRAM: '/opt/graphql-engine' } })
  d = await t.deployer()
  worker = t.startWorker()
})
afterAll(async () => {
  await worker.close()
  await t.close()
})

const withHasura = (env: Record<string, string> = {}, behaviour?: SimBehaviour) => ({
  api: null,
  addons: {
    hasura: {
      version: 'v2.1.0',
      env: {
        HASURA_GRAPHQL_ADMIN_SECRET: 'key',
        ...env,
        ...(behaviour ? { [BEHAVIOUR_VARIABLE]: JSON.stringify(behaviour) } : {}),
      },
    },
  },
})

const running = async () =>
  (await t.runtime.observe()).map(({ workload, container }) => `${workload.split('.')[1]} ${container}`).toSorted()

test('an update starts a new Hasura; if that never becomes healthy, the old one keeps running', async () => {
  const first = await d.deployAndWait(withHasura(), { slot: 'v1' })
  expect(first.logs.map(({ message }) => message).join('\n')).toContain('deploy.addons.hasura.version is ignored')
  expect(await running()).toEqual(['1 hasura', '1 processor'])
  await d.deployAndWait(withHasura({ MARKER: 'second' }), { slot: 'v1' })
  expect(await running()).toEqual(['2 hasura', '2 processor'])
  const unhealthy = { response: { status: 500, text: 'no metadata' } }
  const deployment = await d.deploy(withHasura({}, unhealthy), { slot: 'v1' })
  const params = { code: d.org.code, id: String(deployment.id) }
  const readLog = async () => JSON.stringify((await d.api.deployments.get({ params })).logs)
  await expect.poll(readLog, { timeout: 60_000 }).toContain('/healthz')
  t.time.advance(minutes(6))
  const failed = await d.waitForEnd(deployment)
  expect(failed).toMatchObject({
    failed: 'REQUIREMENTS',
    failureReason: expect.stringContaining('It responded to /healthz with HTTP status 500') as string,
  })
  await expect.poll(running, { timeout: 60_000 }).toEqual(['2 hasura', '2 processor'])
})

test.each([
  ['without an admin secret', { addons: { hasura: {} } }, 'Set HASURA_GRAPHQL_ADMIN_SECRET'],
  ['without a database', { ...withHasura(), hasPostgres: false }, 'Add the addon postgres'],
])('a deployment with Hasura is rejected %s', async (_, squid, reason) => {
  const deployment = await d.waitForEnd(await d.deploy(squid, { name: 'rejected' }))
  expect(deployment).toMatchObject({ failed: 'REQUIREMENTS', failureReason: expect.stringContaining(reason) as string })
})

test('Hasura can be deployed with an external metadata database, without the addon postgres', async () => {
  const env = { HASURA_GRAPHQL_METADATA_DATABASE_URL: 'postgres://elsewhere/metadata' }
  const deployment = await d.deployAndWait({ ...withHasura(env), hasPostgres: false }, { name: 'external' })
  expect(deployment.status).toBe('OK')
})
