import type { Deployment } from '@shoal/contract'
import fc from 'fast-check'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { dropOrphanedDatabases, ownerConnection } from '../databases/index.ts'
import { listDesired } from '../versions/index.ts'
import { minutes } from '../../clock.ts'
import { connect } from '../../db/database.ts'
import { startEngine } from './engine.ts'
import { snapshotOf } from './runtime-snapshot.ts'
import { driftedVersions } from './reconcile.ts'
import { fastIntervals, startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { crashingApp } from './testing/crashing-app.ts'
import type { TestSquid } from './testing/squid-files.ts'

let t: DeployApp
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterAll(() => t?.close())

/** Expected state of a version; null when there is none. */
type Version = {
  /** The code of the last deployment that succeeded; null before the first one. */
  code: string | null
  isRunning: boolean
  isHibernated: boolean
  hasFailed: boolean
  /** Whether the test has written to the database since it was last erased. */
  hasData: boolean
  /** Deployment and code of the rollback targets, newest first. */
  rollbackTargets: { id: number; code: string }[]
}
type Model = { slots: Record<Slot, Version | null>; tag: Slot | null }
type Real = { name: string }
type Slot = 'v1' | 'v2'

/** The fault in the code of a deployment. */
type CodeFault = 'none' | 'build' | 'init' | 'api' | 'processor'
const squidsByFault: Record<CodeFault, TestSquid> = {
  none: {},
  build: { build: { fails: { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'It does not build.' } } },
  init: { init: { ends: { afterMs: 5, exitCode: 1 } } },
  api: { api: { ends: { afterMs: 5, exitCode: 1 } } },
  processor: { processors: { processor: { ends: { afterMs: 5, outOfMemory: true } } } },
}
/** When a worker is killed: before or after its write number `call` (see `KillPoint`); null: not at all. */
type Kill = { call: number; when: 'before' | 'after' } | null

let lastCode = 0
const reference = (real: Real, slot: Slot) => ({ code: d.org.code, reference: `${real.name}@${slot}` })

/** Lets workers finish the deployment. The first worker is killed at `kill`. */
async function finish(deployment: Deployment, kill: Kill): Promise<Deployment> {
  if (kill) {
    const crashing = crashingApp(t.app, kill)
    const engine = startEngine(crashing.app, fastIntervals)
    const { pool } = t.app.database
    const hasEnded = async () =>
      (await pool.query('select 1 from deployments where id = $1 and finished_at is not null', [deployment.id]))
        .rowCount
    while (!crashing.isDead() && !(await hasEnded())) await sleep(5)
    await crashing.terminate()
    void engine.close()
  }
  const engine = startEngine(t.app, fastIntervals)
  try {
    return await d.waitForEnd(deployment)
  } finally {
    await engine.close()
  }
}

async function withDatabase<T>(
  squidId: number,
  work: (query: (text: string) => Promise<number>) => Promise<T>,
): Promise<T> {
  const database = connect((await ownerConnection(t.app, squidId))?.url ?? '', { max: 1 })
  try {
    return await work(async (text) => (await database.pool.query(text)).rowCount ?? 0)
  } finally {
    await database.close()
  }
}

abstract class Command implements fc.AsyncCommand<Model, Real> {
  readonly slot: Slot
  readonly kill: Kill
  constructor(slot: Slot, kill: Kill) {
    this.slot = slot
    this.kill = kill
  }
  check(): boolean {
    return true
  }
  abstract request(model: Model, real: Real): Promise<Deployment>
  /** Returns the expected outcome; null when the server must reject the request with 404 or 405. */
  abstract expected(model: Model, ended: () => Deployment): { failed: boolean; version: Version | null } | null

  async run(model: Model, real: Real): Promise<void> {
    const before = structuredClone(model)
    let ended: Deployment | null = null
    const outcome = this.expected(before, () => ended as unknown as Deployment)
    if (!outcome) {
      await expect(this.request(model, real)).rejects.toMatchObject({ status: expect.toBeOneOf([404, 405]) })
      return
    }
    ended = await finish(await this.request(model, real), this.kill)
    const after = this.expected(before, () => ended)
    expect(ended.failed !== 'NO', `${this.toString()}: ${ended.failureReason}`).toBe(after?.failed)
    model.slots[this.slot] = after?.version ?? null
    this.changeTag(model)
    await compare(model, real)
  }
  changeTag(model: Model): void {
    if (model.tag && !model.slots[model.tag]) model.tag = null
  }
  toString(): string {
    const more = Object.entries(this).filter(([key]) => key !== 'slot' && key !== 'kill')
    return `${this.constructor.name}(${this.slot}, ${JSON.stringify(Object.fromEntries(more))}, kill ${JSON.stringify(this.kill)})`
  }
}

class Deploy extends Command {
  readonly fault: CodeFault
  readonly isHardReset: boolean
  #code = ''
  constructor(slot: Slot, kill: Kill, fault: CodeFault, isHardReset: boolean) {
    super(slot, kill)
    this.fault = fault
    this.isHardReset = isHardReset
  }
  request(_: Model, real: Real): Promise<Deployment> {
    const faulty = squidsByFault[this.fault]
    const squid = { ...faulty, build: { prints: [this.#code], ...faulty.build } }
    return d.deploy(squid, { name: real.name, slot: this.slot, hardReset: this.isHardReset })
  }
  expected({ slots }: Model, ended: () => Deployment) {
    this.#code ||= `code ${++lastCode}`
    const before = slots[this.slot]
    const isErased = this.isHardReset && this.fault !== 'build'
    const old = before ?? {
      code: null,
      isRunning: false,
      isHibernated: false,
      hasFailed: false,
      hasData: false,
      rollbackTargets: [],
    }
    // A first deployment that fails leaves no version behind.
    if (this.fault !== 'none' && !old.code) return { failed: true, version: null }
    if (this.fault !== 'none')
      return {
        failed: true,
        version: { ...old, hasFailed: true, ...(isErased ? { isRunning: false, hasData: false } : {}) },
      }
    const rollbackTargets = ended()
      ? [{ id: ended().id, code: this.#code }, ...old.rollbackTargets].slice(0, 3)
      : old.rollbackTargets
    const hasData = old.hasData && !isErased
    return {
      failed: false,
      version: { code: this.#code, isRunning: true, isHibernated: false, hasFailed: false, hasData, rollbackTargets },
    }
  }
}

class Restart extends Command {
  request(_: Model, real: Real) {
    return d.api.squids.restart({ params: reference(real, this.slot) })
  }
  expected({ slots }: Model) {
    const before = slots[this.slot]
    if (!before?.code) return null
    return { failed: false, version: { ...before, isRunning: true, isHibernated: false, hasFailed: false } }
  }
}

class Hibernate extends Command {
  request(_: Model, real: Real) {
    return d.api.squids.hibernate({ params: reference(real, this.slot) })
  }
  expected({ slots }: Model) {
    const before = slots[this.slot]
    if (!before?.code || before.isHibernated) return null
    return { failed: false, version: { ...before, isRunning: false, isHibernated: true, hasFailed: false } }
  }
}

class Delete extends Command {
  request(_: Model, real: Real) {
    // The server treats a deletion that is requested again within a minute as the same request.
    t.time.advance(minutes(2))
    return d.api.squids.delete({ params: reference(real, this.slot) })
  }
  expected({ slots }: Model) {
    return slots[this.slot] ? { failed: false, version: null } : null
  }
}

class SetTag extends Command {
  request(_: Model, real: Real) {
    return d.api.squids.setTag({ params: { ...reference(real, this.slot), tag: 'live' } })
  }
  expected({ slots }: Model) {
    const before = slots[this.slot]
    return before ? { failed: false, version: { ...before, hasFailed: false } } : null
  }
  override changeTag(model: Model): void {
    model.tag = this.slot
  }
}

class Rollback extends Command {
  readonly targetIndex: number
  constructor(slot: Slot, kill: Kill, targetIndex: number) {
    super(slot, kill)
    this.targetIndex = targetIndex
  }
  request({ slots }: Model, real: Real) {
    const deploymentId = slots[this.slot]?.rollbackTargets[this.targetIndex]?.id ?? 0
    return d.api.squids.rollback({ params: reference(real, this.slot), body: { deploymentId } })
  }
  expected({ slots }: Model, ended: () => Deployment) {
    const before = slots[this.slot]
    const target = before?.rollbackTargets[this.targetIndex]
    if (!before || !target) return null
    const rollbackTargets = ended()
      ? [{ id: ended().id, code: target.code }, ...before.rollbackTargets]
      : before.rollbackTargets
    const images = [...new Set(rollbackTargets.map((k) => k.code))].slice(0, 3)
    return {
      failed: false,
      version: {
        ...before,
        code: target.code,
        isRunning: true,
        isHibernated: false,
        hasFailed: false,
        rollbackTargets: rollbackTargets.filter((k) => images.includes(k.code)),
      },
    }
  }
}

/** Compares the versions in the API and in the runtime with the model. */
async function compare(model: Model, real: Real): Promise<void> {
  const listed = await d.api.squids.list({ params: { code: d.org.code }, query: { name: real.name } })
  const expected = (['v1', 'v2'] as const).filter((slot) => model.slots[slot])
  expect(listed.map((s) => s.slot).sort()).toEqual(expected)
  const observations = await t.runtime.observe()
  for (const squid of listed) {
    const slot = squid.slot as Slot
    const version = model.slots[slot]
    if (!version) continue
    const status = version.isHibernated ? 'HIBERNATED' : version.hasFailed ? 'DEPLOY_ERROR' : 'DEPLOYED'
    expect(squid.status).toBe(status)
    expect(squid.tags).toEqual(model.tag === slot ? [{ name: 'live' }] : [])
    if (version.code) expect(squid.packageJson).toMatchObject({ sim: { prints: [version.code] } })
    const containers = observations.filter((o) => o.workload.startsWith(`${squid.id}.`))
    expect(containers.map((o) => o.container).sort()).toEqual(version.isRunning ? ['api', 'processor'] : [])
    expect(new Set(containers.map((o) => o.workload)).size).toBe(version.isRunning ? 1 : 0)
    if (version.isRunning) await checkData(squid.id, version)
  }
  expect(await dropOrphanedDatabases(t.app)).toEqual([])
  // The reconcile loop finds no drift either.
  expect(await driftedVersions(await snapshotOf(observations), await listDesired(t.app.db))).toEqual([])
}

/** Checks that the data of the version exists until it is erased, and writes some. */
async function checkData(squidId: number, version: Version): Promise<void> {
  await withDatabase(squidId, async (query) => {
    const marked = await query("select 1 from pg_tables where tablename = 'mark'")
    expect(marked > 0).toBe(version.hasData)
    if (!version.hasData) await query('create table mark ()')
    version.hasData = true
  })
}

const slot = fc.constantFrom<Slot>('v1', 'v2')
const kill = fc.option(
  fc.record({ call: fc.integer({ min: 1, max: 40 }), when: fc.constantFrom<'before' | 'after'>('before', 'after') }),
)
const fault = fc.oneof(
  { weight: 3, arbitrary: fc.constant<CodeFault>('none') },
  { weight: 2, arbitrary: fc.constantFrom<CodeFault>('build', 'init', 'api', 'processor') },
)
const commands = fc.commands(
  [
    fc.tuple(slot, kill, fault, fc.boolean()).map((a) => new Deploy(...a)),
    fc.tuple(slot, kill, fault, fc.constant(false)).map((a) => new Deploy(...a)),
    fc.tuple(slot, kill).map((a) => new Restart(...a)),
    fc.tuple(slot, kill).map((a) => new Hibernate(...a)),
    fc.tuple(slot, kill).map((a) => new Delete(...a)),
    fc.tuple(slot, kill).map((a) => new SetTag(...a)),
    fc.tuple(slot, kill, fc.nat(2)).map((a) => new Rollback(...a)),
  ],
  { maxCommands: 12, size: 'max' },
)

test(
  'random actions in random order, with workers killed at random points, leave versions in the expected state',
  { timeout: 300_000 },
  async () => {
    let runs = 0
    await fc.assert(
      fc.asyncProperty(commands, async (commandList) => {
        const real = { name: `model-${++runs}` }
        const model: Model = { slots: { v1: null, v2: null }, tag: null }
        await fc.asyncModelRun(() => ({ model, real }), commandList)
      }),
      { numRuns: 12, endOnFailure: true },
    )
  },
)
