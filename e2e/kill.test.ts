import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDay, type Day } from './support/day.ts'
import { deploy, ended } from './support/deploy.ts'
import { isFull, planKills, seed, steps, type DeployStep, type Kill } from './support/kill-plan.ts'
import { connectTo } from './support/postgres.ts'
import { totalTransfers } from './support/squid.ts'
import { knownTo, orphans, query, tracesOf } from './support/traces.ts'
import { until } from './support/until.ts'

const kills = isFull ? Number(process.env['SHOAL_TEST_KILLS'] ?? 100) : steps.length / 2

type Outcome = Kill & {
  /** The step the deployment was in when its server was killed; OK if it had already ended. */
  killedIn: string
  recoveredMs: number
  /** `lost: …`, `stuck: …` or `orphan: …`. */
  problems: string[]
}

/** The server is killed with SIGKILL at random moments, and loses nothing. */
describe('kill -9', () => {
  let day: Day
  let expected: number
  let programs: string[]
  let stepMs: Map<string, number>

  const reference = (slot: string) => `erc20-transfers@${slot}`
  const indexed = async (slot: string) => (await totalTransfers(day.endpointOf(reference(slot)))) === expected

  beforeAll(async () => {
    day = await startDay()
    await day.api.secrets.change({
      params: { code: day.org },
      body: { secrets: [{ action: 'UPDATE', name: 'RPC_URL', value: day.devnet.rpcUrl }] },
    })
    await ended(day, await deploy(day, { slot: 'v1' }))
    expected = await day.devnet.chain.countTransfers()
    await until(() => indexed('v1'), 'it has indexed')
    programs = (await tracesOf(day.shoal.dataDir)).programs
    // Without a kill, to measure how long each step takes.
    const id = await deploy(day, { slot: 'v1', hardReset: true })
    expect((await ended(day, id)).failureReason).toBeNull()
    stepMs = await durationsOf(id)
  }, 300_000)

  afterAll(() => day?.end())

  test('running squids continue with the same processes, and are adopted', async () => {
    const before = (await tracesOf(day.shoal.dataDir)).programs
    expect(before.length).toBe(programs.length)
    await day.shoal.kill()
    await day.shoal.start()
    await until(() => indexed('v1'), 'it responds again')
    expect((await tracesOf(day.shoal.dataDir)).programs).toEqual(before)
  }, 60_000)

  test(
    `${kills} kills in the middle of steps: none lost, none orphaned, none stuck`,
    { timeout: kills * 240_000 },
    async () => {
      const outcomes: Outcome[] = []
      for (const [index, kill] of planKills(kills).entries()) {
        const outcome = await round(kill, index)
        outcomes.push(outcome)
        const { operation, killedIn, recoveredMs, problems } = outcome
        const line = `kill ${index + 1}/${kills} of a ${operation} in ${killedIn}: ended ${Math.round(recoveredMs / 100) / 10} s after the restart`
        console.log([line, ...problems].join('; '))
      }
      report(outcomes)
      const bad = outcomes.filter(({ problems }) => problems.length > 0)
      expect(bad, `SHOAL_TEST_SEED=${seed}`).toEqual([])
      // The kills hit different steps.
      const hit = new Set(outcomes.map(({ killedIn }) => killedIn))
      expect(steps.filter((step) => hit.has(step)).length).toBeGreaterThanOrEqual(isFull ? steps.length : 1)
    },
  )

  test('a deleted version leaves no process, database or workload', async () => {
    await remove('v1')
    const traces = await until(async () => {
      const seen = await tracesOf(day.shoal.dataDir)
      return seen.databases.length + seen.programs.length + seen.workloads.length === 0 ? seen : null
    }, 'everything is removed')
    const known = await knownTo(day.shoal.dataDir)
    expect(orphans(traces, known, programs.length)).toEqual([])
  }, 90_000)

  /** Deploys, kills the server at the planned moment, restarts it, and checks the outcome. */
  async function round(kill: Kill, index: number): Promise<Outcome> {
    const slot = kill.operation === 'first deployment' ? `k${index}` : 'v1'
    writeFileSync(join(day.project, 'round.txt'), `${seed} ${index}`)
    const id = await deploy(day, { slot, hardReset: kill.operation === 'hard reset' })
    await untilStep(id, kill.step)
    await pause((stepMs.get(kill.step) ?? 0) * kill.part)
    await day.shoal.kill()
    const killedIn = await statusOf(id)
    await day.shoal.start()
    const startedMs = performance.now()
    const problems: string[] = []
    const deployment = await ended(day, id, 120_000).catch(() => null)
    const recoveredMs = performance.now() - startedMs
    if (!deployment) problems.push(`stuck: in ${await statusOf(id)}`)
    else if (deployment.failed !== 'NO') problems.push(`lost: ${deployment.failed}: ${deployment.failureReason}`)
    else if (!(await becomesTrue(() => indexed(slot))))
      problems.push(`lost: ${slot} does not serve the data it should have indexed`)
    let found: string[] = []
    const isClean = async () => {
      const { dataDir } = day.shoal
      found = orphans(await tracesOf(dataDir), await knownTo(dataDir), programs.length)
      return found.length === 0
    }
    if (!(await becomesTrue(isClean))) problems.push(...found.map((what) => `orphan: ${what}`))
    if (problems.length > 0) keepLog(index, problems)
    if (slot !== 'v1') await remove(slot)
    return { ...kill, killedIn, recoveredMs, problems }
  }

  const becomesTrue = (check: () => Promise<boolean>) =>
    until(check, 'the check passes', 45_000).then(
      () => true,
      () => false,
    )

  async function statusOf(id: number): Promise<string> {
    const text = 'select status from deployments where id = $1'
    const [row] = await query<{ status: string }>(day.shoal.dataDir, 'shoal', text, [id])
    return row?.status ?? 'missing'
  }

  async function durationsOf(id: number): Promise<Map<string, number>> {
    const text = `select status, extract(epoch from finished_at - started_at) * 1000 as ms from deployment_steps
      where deployment_id = $1`
    const rows = await query<{ status: string; ms: string }>(day.shoal.dataDir, 'shoal', text, [id])
    return new Map(rows.map(({ status, ms }) => [status, Number(ms)]))
  }

  /** Polls the database without a pause, because some steps take only a few milliseconds. */
  async function untilStep(id: number, step: DeployStep): Promise<void> {
    const order: string[] = [...steps, 'OK']
    const client = await connectTo(day.shoal.dataDir, 'shoal')
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
    await day.api.squids.delete({ params: { code: day.org, reference: reference(slot) } })
    await until(
      async () => !(await day.api.squids.list({ params: { code: day.org } })).some((s) => s.slot === slot),
      'it is deleted',
    )
  }

  /** Keeps the server's output of a failed round. */
  function keepLog(index: number, problems: string[]): void {
    const folder = join(import.meta.dirname, '../test-results')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, `kill-${seed}-${index}.log`),
      [...problems, day.shoal.output().slice(-20_000)].join('\n'),
    )
  }

  function report(outcomes: Outcome[]): void {
    const count = (word: string) => outcomes.filter(({ problems }) => problems.some((p) => p.startsWith(word))).length
    console.log(
      `${kills} kills: ${count('lost')} lost, ${count('orphan')} orphan, ${count('stuck')} stuck (SHOAL_TEST_SEED=${seed})`,
    )
    for (const step of [...steps, 'OK']) {
      const recoveries = outcomes
        .filter(({ killedIn }) => killedIn === step)
        .map(({ recoveredMs }) => recoveredMs / 1000)
      const longest = Math.max(0, ...recoveries).toFixed(1)
      console.log(`  ${step}: ${recoveries.length} kills, the longest ended ${longest} s after the restart`)
    }
    rmSync(join(day.project, 'round.txt'), { force: true })
  }
})
