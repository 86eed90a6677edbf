import { afterAll, beforeAll, expect, test } from 'vitest'
import { singleHost } from '../../db/database-hosts.ts'
import { createLog } from '../../startup/log.ts'
import { createConnectionCheck, servers } from '../databases/index.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let log = ''
beforeAll(async () => {
  const token = 'a token of the operator'
  const destination = { write: (line: string) => void (log += line) }
  t = await startDeployApp({
    log: createLog({ SHOAL_LOG_LEVEL: 'warn' }, destination),
    env: { SHOAL_METRICS_TOKEN: token },
  })
  d = await t.deployer()
})
afterAll(() => t?.close())

test('a deployment that needs more connections than are free fails with advice; an update of a running version does not', async () => {
  const worker = t.startWorker()
  try {
    await d.deployAndWait({}, { name: 'many', slot: 'v1' })
    // Simulates many more replicas than a test can run.
    await t.app.database.pool.query(`update squid_databases set min_connections = 700`)
    const ended = await d.waitForEnd(await d.deploy({}, { name: 'one-more', slot: 'v1' }))
    expect(ended).toMatchObject({
      failed: 'REQUIREMENTS',
      failureReason: expect.stringMatching(
        /^The Postgres of this installation has no connections left for this version: it needs 17, and 0 of \d+ are free\. Hibernate or delete a version/,
      ) as string,
    })
    // The update needs fewer connections than the version already has.
    await d.deployAndWait({ build: { prints: ['new'] } }, { name: 'many', slot: 'v1' })
    await d.deployAndWait({}, { name: 'one-more', slot: 'v1' })
  } finally {
    await worker.close()
  }
})

test('high connection usage is logged once until it has dropped, and the number of connections is exported to Prometheus', async () => {
  const checkConnections = createConnectionCheck(t.app)
  const [counts] = await servers.connections(t.app)
  const { open, max } = counts ?? { open: 0, max: 0 }
  await checkConnections()
  expect(log).not.toContain('Most connections')
  const databaseWithUsage = (share: number) => {
    const pool = { query: async () => ({ rows: [{ max, open: Math.ceil(max * share) }] }) }
    return { ...t.app.databaseHosts.get('main').cluster, pool: pool as never }
  }
  const app = { ...t.app }
  const checkUsage = createConnectionCheck(app)
  for (const share of [0.79, 0.81, 0.9, 0.75, 0.85, 0.5, 0.82]) {
    app.databaseHosts = singleHost(databaseWithUsage(share))
    await checkUsage()
  }
  expect(log.match(/Most connections of the Postgres are in use/g)).toHaveLength(2)
  const metrics = await t.http.inject({ url: '/metrics', headers: { authorization: 'Bearer a token of the operator' } })
  expect(metrics.body).toContain(`shoal_postgres_connections{server="main",state="max"} ${max}`)
  expect(open).toBeGreaterThan(0)
})
