import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../startup/log.ts'
import { connectionWatch, connectionsOf } from '../databases/index.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let log = ''
beforeAll(async () => {
  const token = 'a token of the operator'
  const to = { write: (line: string) => void (log += line) }
  t = await startDeployApp({
    log: createLog({ SHOAL_LOG_LEVEL: 'warn' }, to),
    env: { SHOAL_METRICS_TOKEN: token },
  })
  d = await t.deployer()
})
afterAll(() => t?.close())

test('a version that needs more connections than are left is refused with advice; a running version is not', async () => {
  const worker = t.work()
  try {
    await d.deployed({}, { name: 'many', slot: 'v1' })
    // As if it had many more replicas than a test can run.
    await t.app.database.pool.query(`update squids set api_replicas = 70 where name = 'many'`)
    const refused = await d.ended(await d.deploy({}, { name: 'one-more', slot: 'v1' }))
    expect(refused).toMatchObject({
      failed: 'REQUIREMENTS',
      failureReason: expect.stringMatching(
        /^The Postgres of this installation has no connections left for this version: it needs 7, and 0 of \d+ are free\. Hibernate or delete a version/,
      ) as string,
    })
    // It needs fewer connections than it has.
    await d.deployed({ build: { prints: ['new'] } }, { name: 'many', slot: 'v1' })
    await d.deployed({}, { name: 'one-more', slot: 'v1' })
  } finally {
    await worker.close()
  }
})

test('high connection usage is logged once per episode and exported to Prometheus', async () => {
  const watch = connectionWatch(t.app)
  const { open, max } = await connectionsOf(t.app)
  await watch()
  expect(log).not.toContain('Most connections')
  const full = (share: number) => {
    const pool = { query: async () => ({ rows: [{ max, open: Math.ceil(max * share) }] }) }
    return { ...t.app.squidsDatabase, pool: pool as never }
  }
  const app = { ...t.app }
  const watching = connectionWatch(app)
  for (const share of [0.79, 0.81, 0.9, 0.75, 0.85, 0.5, 0.82]) {
    app.squidsDatabase = full(share)
    await watching()
  }
  expect(log.match(/Most connections of the Postgres are in use/g)).toHaveLength(2)
  const metrics = await t.http.inject({ url: '/metrics', headers: { authorization: 'Bearer a token of the operator' } })
  expect(metrics.body).toContain(`shoal_postgres_connections{state="max"} ${max}`)
  expect(open).toBeGreaterThan(0)
})
