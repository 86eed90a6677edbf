import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { planKills, seed, steps, type DeployStep, type Kill } from '../support/kill-plan.ts'
import { connectTo } from '../support/postgres.ts'
import { totalTransfers } from '../support/squid.ts'
import { isFull } from '../support/tier.ts'
import { readRecords, orphans, query, readResources } from '../support/installation-resources.ts'
import { until } from '../support/until.ts'

const killCount = Number(process.env['SHOAL_TEST_KILLS'] ?? (isFull ? 100 : 1))
/** The number of steps that the kills must cover. Otherwise, the result would mean nothing. */
const requiredSteps = isFull ? steps.length : 1

type Outcome = Kill & {
  /** The step of the deployment when the server was killed; OK if it had already ended. */
  killedIn: string
  recoveredMs: number
  /** What was wrong after the restart. Each begins with `lost:`, `stuck:` or `orphan:`. */
  problems: string[]
}

/** Kills the server at random moments. It must lose no deployment and no data. */
describe('killing the server with SIGKILL', () => {
  let cloud: TestCloud
  let expected: number
  let programs: string[]
  let stepMs: Map<string, number>

  const reference = (slot: string) => `erc20-transfers@${slot}`
  const isIndexed = async (slot: string) => (await totalTransfers(cloud.endpointOf(reference(slot)))) === expected

  beforeAll(async () => {
    cloud = await startTestCloud()
    await cloud.setRpcUrl()
    await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))
    expected = await cloud.devnet.chain.countTransfers()
    await until(() => isIndexed('v1'), 'the squid has indexed the chain')
    programs = (await readResources(cloud.shoal.dataDir)).programs
    // Deploy once without a kill, to measure how long each step takes.
    const id = await deploy(cloud, { slot: 'v1', hardReset: true })
    expect((await waitForDeployment(cloud, id)).failureReason).toBeNull()
    stepMs = await durationsOf(id)
  })

  afterAll(() => cloud?.end())

  test('running squids keep their processes, and the restarted server adopts them', async () => {
    const before = (await readResources(cloud.shoal.dataDir)).programs
    expect(before.length).toBe(programs.length)
    await cloud.shoal.kill()
    await cloud.shoal.start()
    await until(() => isIndexed('v1'), 'the squid responds again')
    expect((await readResources(cloud.shoal.dataDir)).programs).toEqual(before)
  })

  test(
    `after ${killCount} kills during steps, no deployment is lost or stuck, and no resource is orphaned`,
    { timeout: (killCount + steps.length) * 240_000 },
    async () => {
      const outcomes: Outcome[] = []
      const coveredSteps = () => steps.filter((step) => outcomes.some(({ killedIn }) => killedIn === step)).length
      // Some steps take only a few milliseconds, so that a kill may come too late; another one follows then.
      for (const [index, kill] of planKills(killCount + steps.length).entries()) {
        if (index >= killCount && coveredSteps() >= requiredSteps) break
        const outcome = await deployAndKill(kill, index)
        outcomes.push(outcome)
        const { operation, killedIn, recoveredMs, problems } = outcome
        const line = `kill ${index + 1}/${killCount} of a ${operation} in ${killedIn}: ended ${Math.round(recoveredMs / 100) / 10} s after the restart`
        console.log([line, ...problems].join('; '))
      }
      report(outcomes)
      const failed = outcomes.filter(({ problems }) => problems.length > 0)
      expect(failed, `SHOAL_TEST_SEED=${seed}`).toEqual([])
      expect(coveredSteps()).toBeGreaterThanOrEqual(requiredSteps)
    },
  )

  test('a deleted version leaves no process, database or workload', async () => {
    await remove('v1')
    const resources = await until(async () => {
      const remaining = await readResources(cloud.shoal.dataDir)
      return remaining.databases.length + remaining.programs.length + remaining.workloads.length === 0
        ? remaining
        : null
    }, 'the version is removed')
    const records = await readRecords(cloud.shoal.dataDir)
    expect(orphans(resources, records, programs.length)).toEqual([])
  })

  /** Deploys, kills the server at the planned moment, restarts it, and checks the outcome. */
  async function deployAndKill(kill: Kill, index: number): Promise<Outcome> {
    const slot = kill.operation === 'first deployment' ? `k${index}` : 'v1'
    // The file makes the source of each deployment different, so that none reuses an image.
    writeFileSync(join(cloud.project, 'kill.txt'), `${seed} ${index}`)
    const id = await deploy(cloud, { slot, hardReset: kill.operation === 'hard reset' })
    await untilStep(id, kill.step)
    await pause((stepMs.get(kill.step) ?? 0) * kill.fraction)
    await cloud.shoal.kill()
    const killedIn = await statusOf(id)
    await cloud.shoal.start()
    const startedMs = performance.now()
    const problems: string[] = []
    const deployment = await waitForDeployment(cloud, id, 120_000).catch(() => null)
    const recoveredMs = performance.now() - startedMs
    if (!deployment) problems.push(`stuck: in ${await statusOf(id)}`)
    else if (deployment.failed !== 'NO') problems.push(`lost: ${deployment.failed}: ${deployment.failureReason}`)
    else if (!(await passesInTime(() => isIndexed(slot))))
      problems.push(`lost: ${slot} does not serve the data that it should have indexed`)
    let orphaned: string[] = []
    const isClean = async () => {
      const { dataDir } = cloud.shoal
      orphaned = orphans(await readResources(dataDir), await readRecords(dataDir), programs.length)
      return orphaned.length === 0
    }
    if (!(await passesInTime(isClean))) problems.push(...orphaned.map((resource) => `orphan: ${resource}`))
    if (problems.length > 0) saveLog(index, problems)
    if (slot !== 'v1') await remove(slot)
    return { ...kill, killedIn, recoveredMs, problems }
  }

  const passesInTime = (check: () => Promise<boolean>) =>
    until(check, 'the check passes', 45_000).then(
      () => true,
      () => false,
    )

  async function statusOf(id: number): Promise<string> {
    const text = 'select status from deployments where id = $1'
    const [row] = await query<{ status: string }>(cloud.shoal.dataDir, 'shoal', text, [id])
    return row?.status ?? 'missing'
  }

  async function durationsOf(id: number): Promise<Map<string, number>> {
    const text = `select status, extract(epoch from finished_at - started_at) * 1000 as ms from deployment_steps
      where deployment_id = $1`
    const rows = await query<{ status: string; ms: string }>(cloud.shoal.dataDir, 'shoal', text, [id])
    return new Map(rows.map(({ status, ms }) => [status, Number(ms)]))
  }

  /** Waits until the deployment reaches the step. Polls without a pause, because some steps take only a few milliseconds. */
  async function untilStep(id: number, step: DeployStep): Promise<void> {
    const order: string[] = [...steps, 'OK']
    const client = await connectTo(cloud.shoal.dataDir, 'shoal')
    try {
      const text = 'select status from deployments where id = $1'
      const deadline = performance.now() + 120_000
      while (performance.now() < deadline) {
        const { rows } = await client.query<{ status: string }>(text, [id])
        if (order.indexOf(rows[0]?.status ?? '') >= order.indexOf(step)) return
      }
      throw new Error(`deployment ${id} did not reach ${step}`)
    } finally {
      await client.end()
    }
  }

  async function remove(slot: string): Promise<void> {
    await cloud.api.squids.delete({ params: { code: cloud.org, reference: reference(slot) } })
    await until(
      async () => !(await cloud.api.squids.list({ params: { code: cloud.org } })).some((s) => s.slot === slot),
      'the version is deleted',
    )
  }

  /** Saves the end of the server's output, after a kill with problems, to `test-results/`. */
  function saveLog(index: number, problems: string[]): void {
    const folder = join(import.meta.dirname, '../../test-results')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, `kill-${seed}-${index}.log`),
      [...problems, cloud.shoal.output().slice(-20_000)].join('\n'),
    )
  }

  function report(outcomes: Outcome[]): void {
    const count = (word: string) => outcomes.filter(({ problems }) => problems.some((p) => p.startsWith(word))).length
    console.log(
      `${outcomes.length} kills: ${count('lost')} lost, ${count('orphan')} orphan, ${count('stuck')} stuck (SHOAL_TEST_SEED=${seed})`,
    )
    for (const step of [...steps, 'OK']) {
      const recoveries = outcomes
        .filter(({ killedIn }) => killedIn === step)
        .map(({ recoveredMs }) => recoveredMs / 1000)
      const slowest = Math.max(0, ...recoveries).toFixed(1)
      console.log(`  ${step}: ${recoveries.length} kills, the slowest deployment ended ${slowest} s after the restart`)
    }
    rmSync(join(cloud.project, 'kill.txt'), { force: true })
  }
})
