import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWorkload, selectSquidBySlot } from '../versions/index.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let worker: { close: () => Promise<void> }
beforeAll(async () => {
  t = await startDeployApp()
  worker = t.startWorker()
  d = await t.deployer()
})
afterAll(async () => {
  await worker?.close()
  await t?.close()
})

const params = () => ({ code: d.org.code })
const set = (name: string, value: string) =>
  d.api.secrets.change({ params: params(), body: { secrets: [{ action: 'UPDATE', name, value }] } })
const remove = (name: string) =>
  d.api.secrets.change({ params: params(), body: { secrets: [{ action: 'DELETE', name }] } })
const alertsOf = async (slot: string) =>
  (await d.api.squids.get({ params: { ...params(), reference: `test-squid@${slot}` } })).alerts

const uses = async () =>
  (await d.api.secrets.listUses({ params: params() })).map(({ name, versions }) => [
    name,
    versions.map(({ reference, isOutdated }) => `${reference}${isOutdated ? ' is outdated' : ''}`),
  ])
const outdatedAlert = (reason: string) => [expect.objectContaining({ label: 'Secrets are outdated', reason })]
const restartAndWait = async (slot: string) => {
  const restart = await d.api.squids.restart({ params: { ...params(), reference: `test-squid@${slot}` } })
  expect((await d.waitForEnd(restart)).failed).toBe('NO')
}
/** The environments of a version's programs, by container. */
const environmentsOf = async (slot: string) => {
  const squid = await selectSquidBySlot(t.app.db, d.org.id, 'test-squid', slot)
  const workload = openWorkload(t.app.sealer, squid?.id ?? 0, squid?.sealedWorkload ?? '')
  return Object.fromEntries(workload.containers.map(({ name, env }) => [name, env]))
}

test('every program receives all secrets; a version shows a warning about changed, added and deleted ones until it is restarted', async () => {
  await set('KEY', 'first value')
  await set('OTHER', 'other value')
  await d.deployAndWait({}, { slot: 'v1' })
  await d.deployAndWait({ env: { OTHER: 'own value' } }, { slot: 'v2' })
  const both = { KEY: 'first value', OTHER: 'other value' }
  expect(await environmentsOf('v1')).toMatchObject({ api: both, processor: both })
  expect((await environmentsOf('v2'))['processor']).toMatchObject({ KEY: 'first value', OTHER: 'own value' })
  expect(await uses()).toEqual([
    ['KEY', ['test-squid@v1', 'test-squid@v2']],
    ['OTHER', ['test-squid@v1']],
  ])
  expect(await alertsOf('v1')).toEqual([])

  await set('OTHER', 'second value')
  const reason = 'Changed since its programs were started: OTHER. Restart it to apply the changes.'
  expect(await alertsOf('v1')).toEqual(outdatedAlert(reason))
  // The value in the manifest of v2 takes precedence.
  expect(await alertsOf('v2')).toEqual([])
  expect(await uses()).toContainEqual(['OTHER', ['test-squid@v1 is outdated']])
  await set('ADDED', 'new value')
  await remove('KEY')
  expect(await alertsOf('v1')).toEqual(
    outdatedAlert(
      'Changed since its programs were started: ADDED, OTHER. Deleted since its programs were started: KEY. Restart it to apply the changes.',
    ),
  )
  await restartAndWait('v1')
  expect(await alertsOf('v1')).toEqual([])
  const environment = (await environmentsOf('v1'))['api']
  expect(environment).toMatchObject({ ADDED: 'new value', OTHER: 'second value' })
  expect(environment).not.toHaveProperty('KEY')
})

test('an environment that is too large for a program fails the deployment before the build, with the cause', async () => {
  await set('LONG', 'x'.repeat(60_000))
  const failureReasonOf = async (env: Record<string, string>) =>
    (await d.waitForEnd(await d.deploy({ env }, { slot: 'v9' }))).failureReason
  expect(await failureReasonOf({ TWICE: '${{ secrets.LONG }}${{ secrets.LONG }}${{ secrets.LONG }}' })).toMatch(
    /The variable TWICE of init has 181 kB; the maximum is 132 kB/,
  )
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`A${i}`, '${{ secrets.LONG }}']))
  expect(await failureReasonOf(many)).toMatch(/The environment of init has \d+ kB/)
  await remove('LONG')
})

test('neither the log of a deployment nor its failure reason contains a secret, token or password', async () => {
  await set('PASSPHRASE', 'correct-horse-battery')
  const { token } = await d.api.rpc.getToken({ params: params() })
  const failed = await d.waitForEnd(
    await d.deploy(
      {
        build: { prints: ['built with correct-horse-battery'] },
        init: {
          print: [
            'asked ${{ addons.rpc.eth.http }}',
            'into ${{ addons.postgres.url }}',
            'with ${{ secrets.PASSPHRASE }}',
          ],
          ends: { afterMs: 20, exitCode: 1 },
        },
        addons: { rpc: ['eth.http'] },
      },
      { slot: 'v4' },
    ),
  )
  expect(failed.failed).not.toBe('NO')
  const json = JSON.stringify(failed)
  expect(json).toContain('built with ***')
  expect(json).toContain('with ***')
  expect(json).not.toContain('correct-horse-battery')
  expect(json).not.toContain(token)
  const { rows } = await t.app.database.pool.query(
    'select * from deployments join deployment_logs on deployment_id = id',
  )
  expect(JSON.stringify(rows)).not.toMatch(new RegExp(`correct-horse-battery|${token}`))
})
