import type { Deployment } from '@shoal/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collectDatabases } from '../databases/index.ts'
import { startEngine } from './engine.ts'
import { addNotes, claim, SupersededError, updateClaimed } from './store.ts'
import { fastIntervals, startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { killPoints, isFull, killPlanName } from './testing/kill-plan.ts'
import { crashingApp, type KillPoint } from './testing/crashing-app.ts'

let t: DeployApp
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterAll(() => t?.close())

let count = 0
const at = (name: string) => ({ params: { code: d.org.code, reference: `${name}@v1` } })
/** A running version, without a worker. */
async function runningVersion(): Promise<string> {
  const name = `squid-${++count}`
  await t.whileWorking(() => d.deployed({}, { name, slot: 'v1', tag: 'live' }))
  return name
}

/** The deployment, brought to its end by a new worker. */
const finished = (deployment: Promise<Deployment>): Promise<Deployment> =>
  t.whileWorking(async () => d.ended(await deployment))

const containers = async (squidId: number | undefined) =>
  (await t.runtime.observe()).filter((o) => o.workload.startsWith(`${squidId}.`))

const isOver = async ({ id }: Deployment) => {
  const ended = await t.app.database.pool.query('select 1 from deployments where id = $1 and finished_at is not null', [
    id,
  ])
  return ended.rowCount === 1
}

/** True when the worker died; false when the deployment ended before. */
async function workUntilKilled(deployment: Deployment, killPoint: KillPoint): Promise<boolean> {
  const victim = crashingApp(t.app, killPoint)
  const engine = startEngine(victim.app, fastIntervals)
  while (!victim.isDead() && !(await isOver(deployment))) await sleep(5)
  const isDead = victim.isDead()
  await victim.terminate()
  void engine.close()
  return isDead
}

/**
 * Kills a worker at the writes of a deployment, a new deployment for each kill: before and after every write in the full suite,
 * otherwise at a sample. Another worker must bring each deployment to `check`. Returns the number of writes.
 */
async function killEverywhere(
  begin: () => Promise<Deployment>,
  check: (ended: Deployment, killPoint: KillPoint) => Promise<void>,
  { stride = 6 } = {},
): Promise<number> {
  const startedMs = performance.now()
  let kills = 0
  let survivals = 0
  for (const killPoint of killPoints(stride)) {
    const deployment = await begin()
    const hasDied = await workUntilKilled(deployment, killPoint)
    const engine = startEngine(t.app, fastIntervals)
    try {
      await check(await d.ended(deployment), killPoint)
    } finally {
      await engine.close()
    }
    expect(await collectDatabases(t.app), JSON.stringify(killPoint)).toEqual([])
    kills += hasDied ? 1 : 0
    survivals = hasDied ? 0 : survivals + 1
    // Deployments differ by a change or two, so one survival does not prove that all writes were covered.
    if (survivals === 3) {
      const seconds = Math.round((performance.now() - startedMs) / 1000)
      console.log(`${expect.getState().currentTestName}: ${kills} kills in ${seconds} s (${killPlanName})`)
      return killPoint.call
    }
    expect(killPoint.call).toBeLessThan(150)
  }
  throw new Error('All kill points were used before the deployment ended')
}

const isWhole = async (deployment: Deployment) => {
  const running = await containers(deployment.squid?.id)
  expect(running.map((o) => o.container).sort()).toEqual(['api', 'processor'])
  expect(new Set(running.map((o) => o.workload)).size).toBe(1)
}

const timeout = isFull ? 1_200_000 : 240_000

describe('a deployment whose worker is killed at any point is finished by another worker', () => {
  test('a first deployment', { timeout }, async () => {
    const changes = await killEverywhere(
      () => d.deploy({ build: { prints: [String(++count)] } }, { name: `first-${count}`, slot: 'v1', tag: 'live' }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await isWhole(ended)
        const name = ended.squid?.name ?? ''
        expect((await d.api.squids.get(at(name))).tags).toEqual([{ name: 'live' }])
        // An organization is limited to a hundred squids.
        await finished(d.api.squids.delete(at(name)))
      },
    )
    expect(changes).toBeGreaterThan(30)
  })

  test('an update', { timeout }, async () => {
    const name = await runningVersion()
    await killEverywhere(
      () => d.deploy({ build: { prints: [String(++count)] } }, { name, slot: 'v1' }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await isWhole(ended)
      },
    )
  })

  test('an update that fails', { timeout }, async () => {
    const name = await runningVersion()
    const { image } =
      (await t.app.database.pool.query<{ image: string }>('select image from squids where name = $1', [name]))
        .rows[0] ?? {}
    await killEverywhere(
      () => d.deploy({ processors: { processor: { ends: { afterMs: 1, exitCode: 1 } } } }, { name, slot: 'v1' }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ failed: 'REQUIREMENTS' })
        expect(ended.logs.at(-1)?.message).toBe(ended.failureReason)
        await isWhole(ended)
        const workload = [...t.runtime.host.workloads.values()].find(
          (w) => w.desired.version === String(ended.squid?.id),
        )
        expect(workload?.desired.image).toBe(image)
      },
    )
  })

  test('a hard reset', { timeout }, async () => {
    const name = await runningVersion()
    await killEverywhere(
      () => d.deploy({ build: { prints: [String(++count)] } }, { name, slot: 'v1', hardReset: true }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await isWhole(ended)
      },
    )
  })

  test('hibernation', { timeout }, async () => {
    const name = await runningVersion()
    await killEverywhere(
      async () => {
        if ((await d.api.squids.get(at(name))).status === 'HIBERNATED') await finished(d.api.squids.restart(at(name)))
        return await d.api.squids.hibernate(at(name))
      },
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        expect(await containers(ended.squid?.id)).toEqual([])
      },
    )
  })

  test('the restart of a hibernated version', { timeout }, async () => {
    const name = await runningVersion()
    await killEverywhere(
      async () => {
        await finished(d.api.squids.hibernate(at(name)))
        return await d.api.squids.restart(at(name))
      },
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await isWhole(ended)
      },
    )
  })

  test('a deletion', { timeout }, async () => {
    await killEverywhere(
      async () => d.api.squids.delete(at(await runningVersion())),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        expect(await containers(ended.squid?.id)).toEqual([])
        await expect(d.api.squids.get(at(ended.squid?.name ?? ''))).rejects.toMatchObject({ status: 404 })
      },
    )
  })
})

test('a worker that is stopped releases its deployment immediately, and another one resumes it', async () => {
  const deployment = await d.deploy({ build: { takesMs: 700 } }, { name: 'handed-over', slot: 'v1' })
  const one = { params: { code: d.org.code, id: String(deployment.id) } }
  const first = t.work()
  while (!(await d.api.deployments.get(one)).logs.some((l) => l.message.startsWith('Simulating'))) await sleep(5)
  await first.close()
  expect(await d.api.deployments.get(one)).toMatchObject({ status: 'IMAGE_BUILDING', failed: 'NO' })
  const second = t.work()
  try {
    const { logs } = await d.ended(deployment)
    expect(logs.map((l) => l.message)).toContain('The worker stopped during this deployment. Another one resumes it.')
  } finally {
    await second.close()
  }
})

test('two workers share the work, and none of it is done twice', async () => {
  const workers = [t.work(), t.work()]
  try {
    const started = await Promise.all(
      ['a1', 'b1', 'c1', 'd1', 'e1'].map((slot) => d.deploy({}, { name: 'shared', slot })),
    )
    for (const deployment of started) expect(await d.ended(deployment)).toMatchObject({ status: 'OK' })
    const { rows } = await t.app.database.pool.query('select distinct attempt from deployments where id = any($1)', [
      started.map(({ id }) => id),
    ])
    expect(rows).toEqual([{ attempt: 1 }])
  } finally {
    for (const worker of workers) await worker.close()
  }
})

test('a worker that loses its locks stops, and claims the deployment again', async () => {
  const worker = t.work()
  try {
    const deployment = await d.deploy({ build: { takesMs: 300 } }, { name: 'locks-lost', slot: 'v1' })
    const one = { params: { code: d.org.code, id: String(deployment.id) } }
    while (!(await d.api.deployments.get(one)).logs.some((l) => l.message.startsWith('Simulating'))) await sleep(5)
    await t.app.database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'shoal-locks' and datname = current_database()",
    )
    const { status, logs } = await d.ended(deployment)
    expect(status).toBe('OK')
    expect(logs.filter((l) => l.message.startsWith('The worker stopped'))).toHaveLength(1)
  } finally {
    await worker.close()
  }
})

test('late writes of an earlier worker are refused', async () => {
  const { id } = await d.deploy({}, { name: 'fenced', slot: 'v1' })
  const earlier = await claim(t.app.db, id)
  const later = await claim(t.app.db, id)
  if (!earlier || !later) throw new Error('It ended already')
  await expect(updateClaimed(t.app.db, earlier, { image: 'x' })).rejects.toThrow(SupersededError)
  await expect(addNotes(t.app.db, earlier, {}, t.time.now())).rejects.toThrow(SupersededError)
  expect(await updateClaimed(t.app.db, later, { image: 'y' })).toMatchObject({ image: 'y' })
})
