import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let worker: { close: () => Promise<void> }
beforeAll(async () => {
  t = await startDeployApp()
  worker = t.work()
  d = await t.deployer()
})
afterAll(async () => {
  await worker?.close()
  await t?.close()
})

const params = () => ({ code: d.org.code })
const set = (name: string, value: string) =>
  d.api.secrets.change({ params: params(), body: { secrets: [{ action: 'UPDATE', name, value }] } })
const alertsOf = async (slot: string) =>
  (await d.api.squids.get({ params: { ...params(), reference: `test-squid@${slot}` } })).alerts

test('every version that uses a changed secret says so until it is restarted', async () => {
  await set('KEY', 'first value')
  await set('OTHER', 'other value')
  await d.deployed({ env: { KEY: '${{ secrets.KEY }}' } }, { slot: 'v1' })
  await d.deployed({ env: { OTHER: '${{ secrets.OTHER }}' } }, { slot: 'v2' })
  await d.deployed({ env: { KEY: '${{ secrets.KEY }}', OTHER: '${{ secrets.OTHER }}' } }, { slot: 'v3' })
  const uses = async () =>
    (await d.api.secrets.listUses({ params: params() })).map(({ name, versions }) => [
      name,
      versions.map(({ reference, isOutdated }) => `${reference}${isOutdated ? ' is outdated' : ''}`),
    ])
  expect(await uses()).toEqual([
    ['KEY', ['test-squid@v1', 'test-squid@v3']],
    ['OTHER', ['test-squid@v2', 'test-squid@v3']],
  ])

  await set('KEY', 'second value')
  const outdated = expect.objectContaining({
    label: 'Secrets are outdated',
    reason: 'Changed since its programs were started: KEY. Restart it to apply them.',
  })
  expect(await alertsOf('v1')).toEqual([outdated])
  expect(await alertsOf('v2')).toEqual([])
  expect(await alertsOf('v3')).toEqual([outdated])
  expect((await uses())[0]).toEqual(['KEY', ['test-squid@v1 is outdated', 'test-squid@v3 is outdated']])

  const restart = await d.api.squids.restart({ params: { ...params(), reference: 'test-squid@v1' } })
  expect((await d.ended(restart)).failed).toBe('NO')
  expect(await alertsOf('v1')).toEqual([])
  expect(await alertsOf('v3')).toEqual([outdated])
})

test('neither the log of a deployment nor the reason it failed for tells a secret, a token or a password', async () => {
  await set('PASSPHRASE', 'correct-horse-battery')
  const { token } = await d.api.rpc.getToken({ params: params() })
  const failed = await d.ended(
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
  const told = JSON.stringify(failed)
  expect(told).toContain('built with ***')
  expect(told).toContain('with ***')
  expect(told).not.toContain('correct-horse-battery')
  expect(told).not.toContain(token)
  const { rows } = await t.app.database.pool.query(
    'select * from deployments join deployment_logs on deployment_id = id',
  )
  expect(JSON.stringify(rows)).not.toMatch(new RegExp(`correct-horse-battery|${token}`))
})
