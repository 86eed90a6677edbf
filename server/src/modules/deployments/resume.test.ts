import type { Deployment } from '@shoal/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dropOrphanedDatabases } from '../databases/index.ts'
import { startEngine } from './engine.ts'
import { addNotes, claim, SupersededError, updateClaimed } from './claim-store.ts'
import { fastIntervals, startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { killPoints, isFullRun, killPlanDescription } from './testing/kill-plan.ts'
import { crashingApp, type KillPoint } from './testing/crashing-app.ts'

let t: DeployApp
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterAll(() => t?.close())

let count = 0
const squidParams = (name: string) => ({ params: { code: d.org.code, reference: `${name}@v1` } })
/** Deploys a version and stops the worker; returns its name. */
async function runningVersion(): Promise<string> {
  const name = `squid-${++count}`
  await t.withWorker(() => d.deployAndWait({}, { name, slot: 'v1', tag: 'live' }))
  return name
}

/** Lets a new worker finish the deployment. */
const finishWithWorker = (deployment: Promise<Deployment>): Promise<Deployment> =>
  t.withWorker(async () => d.waitForEnd(await deployment))

const containers = async (squidId: number | undefined) =>
  (await t.runtime.observe()).filter((o) => o.workload.startsWith(`${squidId}.`))

const hasEnded = async ({ id }: Deployment) => {
  const ended = await t.app.database.pool.query('select 1 from deployments where id = $1 and finished_at is not null', [
    id,
  ])
  return ended.rowCount === 1
}

/** Runs a worker until it is killed or the deployment ends. Returns whether it was killed. */
async function workUntilKilled(deployment: Deployment, killPoint: KillPoint): Promise<boolean> {
  const crashing = crashingApp(t.app, killPoint)
  const engine = startEngine(crashing.app, fastIntervals)
  while (!crashing.isDead() && !(await hasEnded(deployment))) await sleep(5)
  const isDead = crashing.isDead()
  await crashing.terminate()
  void engine.close()
  return isDead
}

/**
 * Kills workers at the writes of a deployment: before and after every write in the full suite, otherwise at a sample. Each kill uses a
 * new deployment, which another worker then finishes, and `check` verifies. Returns the number of writes.
 */
async function killAtEveryWrite(
  begin: () => Promise<Deployment>,
  check: (ended: Deployment, killPoint: KillPoint) => Promise<void>,
  { stride = 9 } = {},
): Promise<number> {
  const startedMs = performance.now()
  let kills = 0
  let runsWithoutKill = 0
  for (const killPoint of killPoints(stride)) {
    const deployment = await begin()
    const wasKilled = await workUntilKilled(deployment, killPoint)
    const engine = startEngine(t.app, fastIntervals)
    try {
      await check(await d.waitForEnd(deployment), killPoint)
    } finally {
      await engine.close()
    }
    expect(await dropOrphanedDatabases(t.app), JSON.stringify(killPoint)).toEqual([])
    kills += wasKilled ? 1 : 0
    runsWithoutKill = wasKilled ? 0 : runsWithoutKill + 1
    // The number of writes varies a little, so one surviving worker does not prove that all writes were covered.
    if (runsWithoutKill === 3) {
      const seconds = Math.round((performance.now() - startedMs) / 1000)
      console.log(`${expect.getState().currentTestName}: ${kills} kills in ${seconds} s (${killPlanDescription})`)
      return killPoint.call
    }
    expect(killPoint.call).toBeLessThan(150)
  }
  throw new Error('All kill points were used before the deployment ended')
}

const expectOneGeneration = async (deployment: Deployment) => {
  const running = await containers(deployment.squid?.id)
  expect(running.map((o) => o.container).sort()).toEqual(['api', 'processor'])
  expect(new Set(running.map((o) => o.workload)).size).toBe(1)
}

const timeout = isFullRun ? 1_200_000 : 240_000

describe('a deployment whose worker is killed at any point is finished by another worker', () => {
  test('a first deployment', { timeout }, async () => {
    const writes = await killAtEveryWrite(
      () => d.deploy({ build: { prints: [String(++count)] } }, { name: `first-${count}`, slot: 'v1', tag: 'live' }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await expectOneGeneration(ended)
        const name = ended.squid?.name ?? ''
        expect((await d.api.squids.get(squidParams(name))).tags).toEqual([{ name: 'live' }])
        // An organization is limited to a hundred squids.
        await finishWithWorker(d.api.squids.delete(squidParams(name)))
      },
    )
    expect(writes).toBeGreaterThan(30)
  })

  test('an update', { timeout }, async () => {
    const name = await runningVersion()
    await killAtEveryWrite(
      () => d.deploy({ build: { prints: [String(++count)] } }, { name, slot: 'v1' }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await expectOneGeneration(ended)
      },
    )
  })

  test('an update that fails', { timeout }, async () => {
    const name = await runningVersion()
    const { image } =
      (await t.app.database.pool.query<{ image: string }>('select image from squids where name = $1', [name]))
        .rows[0] ?? {}
    await killAtEveryWrite(
      () => d.deploy({ processors: { processor: { ends: { afterMs: 1, exitCode: 1 } } } }, { name, slot: 'v1' }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ failed: 'REQUIREMENTS' })
        expect(ended.logs.at(-1)?.message).toBe(ended.failureReason)
        await expectOneGeneration(ended)
        const workload = [...t.runtime.host.workloads.values()].find(
          (w) => w.desired.version === String(ended.squid?.id),
        )
        expect(workload?.desired.image).toBe(image)
      },
    )
  })

  test('a hard reset', { timeout }, async () => {
    const name = await runningVersion()
    await killAtEveryWrite(
      () => d.deploy({ build: { prints: [String(++count)] } }, { name, slot: 'v1', hardReset: true }),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await expectOneGeneration(ended)
      },
    )
  })

  test('hibernation', { timeout }, async () => {
    const name = await runningVersion()
    await killAtEveryWrite(
      async () => {
        if ((await d.api.squids.get(squidParams(name))).status === 'HIBERNATED')
          await finishWithWorker(d.api.squids.restart(squidParams(name)))
        return await d.api.squids.hibernate(squidParams(name))
      },
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        expect(await containers(ended.squid?.id)).toEqual([])
      },
    )
  })

  test('the restart of a hibernated version', { timeout }, async () => {
    const name = await runningVersion()
    await killAtEveryWrite(
      async () => {
        await finishWithWorker(d.api.squids.hibernate(squidParams(name)))
        return await d.api.squids.restart(squidParams(name))
      },
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        await expectOneGeneration(ended)
      },
    )
  })

  test('a deletion', { timeout }, async () => {
    await killAtEveryWrite(
      async () => d.api.squids.delete(squidParams(await runningVersion())),
      async (ended, killPoint) => {
        expect(ended, JSON.stringify(killPoint)).toMatchObject({ status: 'OK', failed: 'NO' })
        expect(await containers(ended.squid?.id)).toEqual([])
        await expect(d.api.squids.get(squidParams(ended.squid?.name ?? ''))).rejects.toMatchObject({ status: 404 })
      },
    )
  })
})

test('a worker that is stopped releases its deployment immediately, and another one resumes it', async () => {
  const deployment = await d.deploy({ build: { takesMs: 5_000 } }, { name: 'handed-over', slot: 'v1' })
  const deploymentParams = { params: { code: d.org.code, id: String(deployment.id) } }
  const first = t.startWorker()
  while (!(await d.api.deployments.get(deploymentParams)).logs.some((l) => l.message.startsWith('Simulating')))
    await sleep(5)
  await first.close()
  expect(await d.api.deployments.get(deploymentParams)).toMatchObject({ status: 'IMAGE_BUILDING', failed: 'NO' })
  const second = t.startWorker()
  try {
    const { logs } = await d.waitForEnd(deployment)
    expect(logs.map((l) => l.message)).toContain('The worker stopped during this deployment. Another one resumes it.')
  } finally {
    await second.close()
  }
})

test('two workers share the deployments, and each deployment is claimed once', async () => {
  const workers = [t.startWorker(), t.startWorker()]
  try {
    const started = await Promise.all(
      ['a1', 'b1', 'c1', 'd1', 'e1'].map((slot) => d.deploy({}, { name: 'shared', slot })),
    )
    for (const deployment of started) expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
    const { rows } = await t.app.database.pool.query('select distinct attempt from deployments where id = any($1)', [
      started.map(({ id }) => id),
    ])
    expect(rows).toEqual([{ attempt: 1 }])
  } finally {
    for (const worker of workers) await worker.close()
  }
})

test('a worker that loses its locks stops, and claims the deployment again', async () => {
  const worker = t.startWorker()
  try {
    // Unlike the source of the other deployment, which would be built already.
    const deployment = await d.deploy({ build: { takesMs: 5_001 } }, { name: 'locks-lost', slot: 'v1' })
    const deploymentParams = { params: { code: d.org.code, id: String(deployment.id) } }
    while (!(await d.api.deployments.get(deploymentParams)).logs.some((l) => l.message.startsWith('Simulating')))
      await sleep(5)
    await t.app.database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'shoal-locks' and datname = current_database()",
    )
    const { status, logs } = await d.waitForEnd(deployment)
    expect(status).toBe('OK')
    expect(logs.filter((l) => l.message.startsWith('The worker stopped'))).toHaveLength(1)
  } finally {
    await worker.close()
  }
})

test('writes of a superseded worker are rejected', async () => {
  const { id } = await d.deploy({}, { name: 'fenced', slot: 'v1' })
  const earlier = await claim(t.app.db, id)
  const later = await claim(t.app.db, id)
  if (!earlier || !later) throw new Error('The deployment has already ended')
  await expect(updateClaimed(t.app.db, earlier, { image: 'x' })).rejects.toThrow(SupersededError)
  await expect(addNotes(t.app.db, earlier, {}, t.time.now())).rejects.toThrow(SupersededError)
  expect(await updateClaimed(t.app.db, later, { image: 'y' })).toMatchObject({ image: 'y' })
})
