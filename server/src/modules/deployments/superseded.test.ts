import type { Deployment } from '@shoal/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../db/sql.ts'
import { hours, minutes } from '../../clock.ts'
import { until } from '../../testing/until.ts'
import { startEngine } from './engine.ts'
import { removeUnusedImages } from './unused-images.ts'
import { lockOrg } from '../orgs/index.ts'
import { claim } from './claim-store.ts'
import { fastIntervals, startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { pausedApp } from './testing/paused-app.ts'

let t: DeployApp
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterAll(() => t?.close())

let count = 0
const params = (name: string) => ({ params: { code: d.org.code, reference: `${name}@v1` } })

async function runningVersion(): Promise<string> {
  const name = `fenced-${++count}`
  await t.withWorker(() => d.deployAndWait({}, { name, slot: 'v1', tag: 'live' }))
  return name
}

type Begin = () => Promise<Deployment>
const onRunningVersion = (act: (name: string) => Promise<Deployment>) => async () => act(await runningVersion())
const deploy: Begin = () =>
  d.deploy({ build: { prints: [String(++count)] } }, { name: `fenced-${count}`, slot: 'v1', tag: 'live' })
const hardReset: Begin = onRunningVersion((name) => d.deploy({}, { name, slot: 'v1', hardReset: true }))

const writes: [string, RegExp, Begin][] = [
  ['the start of a step', /insert into "deployment_steps"/, deploy],
  ['the end of a step', /update "deployment_steps" set "finished_at"/, deploy],
  ['an image that was built', /insert into "images"/, deploy],
  ['a database', /insert into "squid_databases"/, deploy],
  ['a tag', /insert into "squid_tags"/, deploy],
  ['stopping the programs, for a reset', /update "squids" set .*"sealed_workload" = /, hardReset],
  [
    'hibernation',
    /update "squids" set .*"desired_state" = /,
    onRunningVersion((n) => d.api.squids.hibernate(params(n))),
  ],
  ['deletion', /update "squids" set .*"desired_state" = /, onRunningVersion((n) => d.api.squids.delete(params(n)))],
  ['the deletion of the row', /delete from "squids"/, onRunningVersion((n) => d.api.squids.delete(params(n)))],
  [
    'the removal of a tag',
    /delete from "squid_tags"/,
    onRunningVersion((n) => d.api.squids.removeTag({ params: { ...params(n).params, tag: 'live' } })),
  ],
]

describe('a worker that was suspended while another worker claimed its deployment no longer writes', () => {
  test.each(writes)('%s', { timeout: 120_000 }, async (_, pattern, begin) => {
    const deployment = await begin()
    let isSuperseded = false
    let changed = 0
    const paused = pausedApp(t.app, pattern, async (run) => {
      const claiming = claim(t.app.db, deployment.id).then(() => void (isSuperseded = true))
      await Promise.race([claiming, sleep(300)])
      const result = await run()
      if (isSuperseded) changed = result.rowCount ?? 0
      return result
    })
    const engine = startEngine(paused.app, fastIntervals)
    await until(() => expect(paused.wasReached()).toBe(true))
    await engine.close()
    await paused.close()
    expect(changed).toBe(0)
    // Another worker finishes the deployment.
    const other = startEngine(t.app, fastIntervals)
    try {
      expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
    } finally {
      await other.close()
    }
  })
})

describe('deadlines', () => {
  const endlessInit = { init: { ends: { afterMs: hours(10), exitCode: 1 } } }
  const row = async (id: number) => {
    const { rows } = await t.app.database.pool.query<{ status: string; deadline: Date | null }>(
      'select status, deadline_at as deadline from deployments where id = $1',
      [id],
    )
    return rows[0]
  }

  test('a resumed step keeps its deadline, and the worker that exceeds it records the failure', async () => {
    const deployment = await d.deploy(endlessInit, { name: 'slow', slot: 'v1' })
    const first = startEngine(t.app, fastIntervals)
    await until(async () => expect((await row(deployment.id))?.status).toBe('SQUID_SYNCING'))
    await first.close()
    const before = (await row(deployment.id))?.deadline
    t.time.advance(minutes(50))
    const second = startEngine(t.app, fastIntervals)
    try {
      await until(async () => {
        const { rows } = await t.app.database.pool.query('select 1 from deployments where id = $1 and attempt > 1', [
          deployment.id,
        ])
        expect(rows).toHaveLength(1)
      })
      await sleep(200)
      expect((await row(deployment.id))?.deadline).toEqual(before)
      t.time.advance(minutes(11))
      expect(await d.waitForEnd(deployment)).toMatchObject({
        failed: 'REQUIREMENTS',
        failureReason: expect.stringContaining('longer than its limit of 60 minutes') as string,
      })
    } finally {
      await second.close()
    }
  })
})

test('the reason of a failure is logged once, even if the worker is superseded before it has ended the deployment', async () => {
  const squid = { init: { ends: { afterMs: 5, exitCode: 1 } } }
  const deployment = await d.deploy(squid, { name: 'logged-once', slot: 'v1' })
  const paused = pausedApp(t.app, /update "deployments" set .*"finished_at" = /, async (run) => {
    await claim(t.app.db, deployment.id)
    return await run()
  })
  const first = startEngine(paused.app, fastIntervals)
  await until(() => expect(paused.wasReached()).toBe(true))
  await first.close()
  await paused.close()
  const second = startEngine(t.app, fastIntervals)
  try {
    const { failureReason, logs } = await d.waitForEnd(deployment)
    expect(logs.filter(({ message }) => message === failureReason)).toHaveLength(1)
    expect(logs.at(-1)?.message).toBe(failureReason)
  } finally {
    await second.close()
  }
})

describe('after the switch', () => {
  test('a failure reports that the new code is running, in the deployment and in the alerts of the version', async () => {
    const name = await runningVersion()
    const { pool } = t.app.database
    await pool.query(`create function no_tags() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
      create trigger no_tags before insert on squid_tags for each row execute function no_tags()`)
    const worker = t.startWorker()
    try {
      const ended = await d.waitForEnd(
        await d.deploy({ build: { prints: ['new'] } }, { name, slot: 'v1', tag: 'next' }),
      )
      expect(ended).toMatchObject({
        failed: 'UNEXPECTED',
        failureReason: expect.stringMatching(
          /^The new code is running; only a step after the switch to it failed\./,
        ) as string,
      })
      const squid = await d.api.squids.get(params(name))
      expect(JSON.stringify(squid.alerts)).toContain('The new code is running nevertheless.')
      expect(JSON.stringify(squid.alerts)).not.toContain('The previous deployment keeps running.')
    } finally {
      await worker.close()
      await pool.query('drop trigger no_tags on squid_tags')
    }
  })
})

describe('locks', () => {
  test('rows that refer to an organization can be inserted while it is locked for a deployment', async () => {
    const { pool } = t.app.database
    await t.app.db.transaction(async (tx) => {
      await lockOrg(tx, d.org.id)
      const client = await pool.connect()
      try {
        await client.query(`set lock_timeout = '2s'`)
        await client.query('insert into uploads (id, org_id, created_at) values (gen_random_uuid(), $1, now())', [
          d.org.id,
        ])
      } finally {
        client.release(true)
      }
    })
    await expect(t.app.db.transaction(async (tx) => tx.execute(sql`select 1`))).resolves.toBeTruthy()
  })

  test('the files of images are removed after their rows, and deployments can be requested in the meantime', async () => {
    const name = await runningVersion()
    const worker = t.startWorker()
    try {
      await d.waitForEnd(await d.api.squids.delete(params(name)))
    } finally {
      await worker.close()
    }
    let isRemoving = false
    let proceed = () => {}
    const mayRemove = new Promise<void>((done) => void (proceed = done))
    const builder = new Proxy(t.builder, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target)
        if (key === 'removeImage')
          return async (image: string) => {
            isRemoving = true
            await mayRemove
            await target.removeImage(image)
          }
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const removing = removeUnusedImages({ ...t.app, builder })
    await until(() => expect(isRemoving).toBe(true))
    // This request needs the lock of the organization.
    const deployment = await d.deploy({}, { name: 'concurrent', slot: 'v1' })
    proceed()
    await removing
    const other = t.startWorker()
    try {
      expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
    } finally {
      await other.close()
    }
  })

  test('an image whose worker died before recording it is removed after a day', async () => {
    const deployment = await d.deploy({ build: { prints: ['orphan'] } }, { name: 'orphan', slot: 'v1' })
    const worker = t.startWorker()
    await d.waitForEnd(deployment)
    await worker.close()
    const images = async () => (await t.builder.listImages()).map(({ image }) => image)
    const { rows } = await t.app.database.pool.query<{ image: string }>('select image from deployments where id = $1', [
      deployment.id,
    ])
    const image = rows[0]?.image ?? ''
    await t.app.database.pool.query('delete from images where image = $1', [image])
    await removeUnusedImages(t.app)
    expect(await images()).toContain(image)
    const agedBuilder = new Proxy(t.builder, {
      get: (target, key) => {
        if (key === 'listImages')
          return async () =>
            (await target.listImages()).map((entry) => ({ ...entry, storedAtMs: entry.storedAtMs - hours(25) }))
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    await removeUnusedImages({ ...t.app, builder: agedBuilder })
    expect(await images()).not.toContain(image)
  })
})
