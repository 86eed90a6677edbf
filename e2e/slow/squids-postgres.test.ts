import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitForDeployment } from '../support/deploy.ts'
import { addOrg, type Org } from '../support/org.ts'
import { findPostmaster, postmasterOf, type Cluster } from '../support/postgres.ts'
import { startShoal, type Shoal } from '../support/shoal.ts'
import { deploySimulated, requestSimulatedDeploy } from '../support/simulated-squid.ts'
import { until } from '../support/until.ts'

let shoal: Shoal
let org: Org
beforeAll(async () => {
  shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
  org = await addOrg(shoal, 'steady')
  await deploySimulated({ shoal, ...org }, { name: 'squid', slot: 'v1' })
})
afterAll(async () => {
  await shoal?.end()
})

const steady = 'ready 200, 1 squids'

/**
 * Returns the server's readiness and number of squids. Reads them again if they are not as expected, because a busy machine can slow down
 * a single check of the control plane; the server repeats a check after a second.
 */
async function readState(): Promise<string> {
  const read = async () => {
    const { status } = await fetch(`${shoal.url}/readyz`)
    const squids = await org.api.squids.list({ params: { code: org.org } })
    return `ready ${status}, ${squids.length} squids`
  }
  const state = await read()
  if (state === steady) return state
  await pause(1_100)
  return await read()
}

/** Calls the server until `stop`, which returns each different result. */
function watchServer(): { stop: () => Promise<string[]> } {
  const results = new Set<string>()
  let isStopped = false
  const watching = (async () => {
    while (!isStopped) {
      results.add(await readState())
      await pause(100)
    }
  })().catch((error: unknown) => void results.add(String(error)))
  return {
    stop: async () => {
      isStopped = true
      await watching
      return [...results]
    },
  }
}

test('while the Postgres of squids crashes repeatedly, the server stays ready, its API responds, and it restarts this Postgres later', async () => {
  const controlPlane = postmasterOf(shoal.dataDir)
  const countOf = (text: string) => shoal.output().match(new RegExp(`postgres-squids ${text}`, 'g'))?.length ?? 0
  const watch = watchServer()
  // The server waits longer and longer before it restarts this Postgres.
  for (let crashes = 1; crashes <= 3; crashes++) {
    process.kill(postmasterOf(shoal.dataDir, 'postgres-squids'), 'SIGKILL')
    await until(() => countOf('stopped unexpectedly') === crashes, `the server notices crash ${crashes}`)
    if (crashes < 3)
      await until(() => countOf('was restarted') === crashes, 'the server restarts the Postgres of squids')
  }
  // The control plane also writes while the Postgres of squids is down.
  await org.api.secrets.change({
    params: { code: org.org },
    body: { secrets: [{ action: 'UPDATE', name: 'WRITTEN', value: 'x' }] },
  })
  await until(() => countOf('was restarted') === 3, 'the server restarts the Postgres of squids again')
  expect(await watch.stop()).toEqual([steady])
  expect(postmasterOf(shoal.dataDir)).toBe(controlPlane)
  expect(shoal.output()).not.toContain('times within a minute')
})

/** Stops a cluster while no server runs, and makes its configuration invalid. Returns a function that restores it. */
async function breakConfiguration(cluster: Cluster): Promise<() => void> {
  const postmaster = findPostmaster(shoal.dataDir, cluster)
  if (postmaster !== null) process.kill(postmaster, 'SIGINT')
  await until(() => findPostmaster(shoal.dataDir, cluster) === null, 'Postgres has stopped')
  const file = join(shoal.dataDir, cluster, 'data/postgresql.conf')
  const valid = readFileSync(file, 'utf8')
  writeFileSync(file, `${valid}\nport = = 1\n`)
  return () => writeFileSync(file, valid)
}

const waiting = 'The Postgres of squids does not respond. The deployment continues when it does.'
type Ready = { status: string; facts: { squidsPostgres: string } }

test('if the Postgres of squids cannot start, the server starts, says so, and continues the work that waits for this Postgres when the cause is removed', async () => {
  await shoal.kill()
  const restore = await breakConfiguration('postgres-squids')
  await shoal.start()
  const ready = async () => (await (await fetch(`${shoal.url}/readyz`)).json()) as Ready
  expect(await ready()).toMatchObject({ status: 'ok', facts: { squidsPostgres: 'does not respond' } })
  expect((await fetch(shoal.url)).status).toBe(200)
  expect(await org.api.squids.list({ params: { code: org.org } })).toHaveLength(1)
  expect(shoal.output()).toMatch(
    /The embedded Postgres in \S+postgres-squids did not start: configuration file \S+ contains errors/,
  )
  const doctor = await shoal.cli('doctor').catch((error: { stdout: string }) => JSON.parse(error.stdout) as unknown)
  expect(doctor).toMatchObject({
    checks: expect.arrayContaining([
      expect.objectContaining({
        name: 'Postgres of squids',
        status: 'failed',
        finding: 'embedded, and does not run although a server does',
      }),
    ]),
  })

  const id = await requestSimulatedDeploy({ shoal, ...org }, { name: 'squid', slot: 'v2' })
  const params = { code: org.org, id: String(id) }
  await until(
    async () => (await org.api.deployments.get({ params })).logs.some(({ message }) => message.includes(waiting)),
    'the deployment says what it waits for',
  )
  const attempts = () => shoal.output().match(/postgres-squids could not be restarted: /g)?.length ?? 0
  await until(() => attempts() >= 3, 'the server tries to start it repeatedly')
  expect(attempts()).toBeLessThan(10)
  restore()
  expect(await waitForDeployment({ api: org.api, org: org.org }, id)).toMatchObject({ status: 'OK', failed: 'NO' })
  await until(async () => (await ready()).facts.squidsPostgres === 'ok', 'the server reports that it runs')
})

test('if the Postgres of the control plane cannot start, the server exits with one sentence', async () => {
  await shoal.kill()
  const restore = await breakConfiguration('postgres')
  const before = shoal.output().length
  await expect(shoal.start()).rejects.toThrow('The server did not start')
  const output = shoal.output().slice(before)
  expect(output).toMatch(
    /^The embedded Postgres in \S+\/postgres did not start: configuration file \S+ contains errors \(\S+postgres\.log\)$/m,
  )
  expect(output).not.toContain('    at ')
  restore()
  await shoal.start()
})
