import type { Processor } from '@shoal/contract'
import { createSimRuntime, ManualClock, type SimBehaviour, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { findingsOf, defaultThresholds } from '../rules/findings.ts'
import { createKnownHeads } from './known-heads.ts'
import { readContainers } from '../containers/observe-containers.ts'
import { observeProcessors } from '../probing/observe-processors.ts'
import { createSourceObserver } from './observe-sources.ts'
import { loadObservationCache, type ObservationCache } from '../observation-cache.ts'
import { sealWorkload, updateSquid } from '../../versions/store.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import { readAlertSubjects } from '../../alerts/rules/alert-subjects.ts'
import { metricsPort } from '../../containers.ts'

let t: TestApp
let clock: ManualClock
let runtime: SimRuntime
let org: TestOrg
let cache: ObservationCache
let observeSources: () => Promise<void>
let knownHeads: ReturnType<typeof createKnownHeads>
beforeEach(async () => {
  clock = new ManualClock()
  runtime = createSimRuntime({ clock, serve: true })
  t = await startTestApp({ clock, runtime })
  org = await t.make.org()
  cache = await loadObservationCache(t.app)
  knownHeads = createKnownHeads(t.app)
  observeSources = createSourceObserver(t.app, cache, knownHeads)
})
afterEach(() => t?.close())

/** Advances the clock, and observes every three seconds like a worker. */
async function advance(ms: number): Promise<void> {
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 3000) {
    clock.advance(3000)
    await cache.recordContainers(await readContainers(t.app, cache.containers))
    await observeProcessors(t.app, cache, knownHeads.headOf)
    if (elapsedMs % 9000 === 0) await observeSources()
  }
}

const makeSquid = (eth: SimBehaviour) => makeVersion(t.app, org, { processors: { eth } })
const getSquid = () => t.as(org.admin).squids.get({ params: { code: org.code, reference: 'test-squid@v1' } })
const processor = async (): Promise<Processor> => {
  const [one] = (await getSquid()).processors ?? []
  if (!one) throw new Error('There is no processor')
  return one
}
/** The findings that would open an alert immediately. */
const findings = async () => {
  const [version] = await readAlertSubjects(t.app.db)
  if (!version) throw new Error('There is no version')
  return findingsOf(version.facts, defaultThresholds, clock.now().getTime()).filter(({ canOpenAlert }) => canOpenAlert)
}

const atHead = (source: NonNullable<SimBehaviour['sync']>['source'], headBlocksPerSecond = 1 / 12): SimBehaviour => ({
  sync: { fromBlock: 1000, headBlock: 1000, headBlocksPerSecond, blocksPerSecond: 100, ...(source && { source }) },
})

test('a processor whose node stops responding is STALLED and lags within a minute, until the node responds again', async () => {
  await makeSquid(atHead({ requestEveryMs: 5000, silentFromMs: minutes(5), silentToMs: minutes(6.5) }))
  await advance(minutes(5))
  expect(await processor()).toMatchObject({ status: 'SYNCED', lag: { blocks: 0, seconds: 0 } })
  await advance(minutes(1))
  const stalled = await processor()
  expect(stalled).toMatchObject({
    status: 'STALLED',
    reason: expect.stringMatching(/^Its data source has not responded since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\./),
  })
  const sinceMs = Date.parse(stalled.since ?? '')
  expect(clock.now().getTime() - sinceMs).toBeGreaterThanOrEqual(minutes(1))
  expect(stalled.lag?.seconds).toBeGreaterThanOrEqual(60)
  expect(stalled.lag?.blocks).toBeGreaterThanOrEqual(4)
  expect(await findings()).toEqual([])
  await advance(minutes(1))
  expect(await processor()).toMatchObject({ status: 'SYNCED', reason: null, lag: { blocks: 0 } })
})

test('a processor whose node stays silent is stuck after five minutes', async () => {
  await makeSquid(atHead({ requestEveryMs: 5000, silentFromMs: minutes(3) }))
  await advance(minutes(8) + 20_000)
  expect(await processor()).toMatchObject({ status: 'STUCK' })
  expect(await findings()).toMatchObject([
    { kind: 'STALLED', container: 'eth', reason: expect.stringContaining('has not responded since') },
  ])
})

test.each([
  ['with a block every ten minutes', atHead({ requestEveryMs: 5000 }, 1 / 600)],
  ['without new blocks', atHead({ requestEveryMs: 20_000 }, 0)],
  ['that it polls only every two minutes', atHead({ requestEveryMs: minutes(2) }, 1)],
])('a quiet processor on a chain %s is not stalled', async (_, behaviour) => {
  await makeSquid(behaviour)
  await advance(minutes(3))
  for (let i = 0; i < 40; i++) {
    await advance(30_000)
    expect((await processor()).status).toBe('SYNCED')
  }
})

test('periods without observations do not count as silence', async () => {
  await makeSquid(atHead({ requestEveryMs: 5000 }))
  await advance(minutes(3))
  clock.advance(minutes(60))
  expect((await processor()).status).toBe('SYNCED')
  await advance(9_000)
  expect((await processor()).status).toBe('SYNCED')
})

const sdkLine = (fields: object) => JSON.stringify({ level: 3, ns: 'sqd:processor:rpc', ...fields })
const startLine = sdkLine({ ns: 'sqd:processor', msg: 'processing blocks from 0' })

test('a data source that never responds is reported within three minutes, with its host and without its key', async () => {
  await t.as(org.admin).secrets.change({
    params: { code: org.code },
    body: { secrets: [{ action: 'UPDATE', name: 'NODE', value: 'hidden-node-name' }] },
  })
  const failure = sdkLine({
    msg: 'connection failure',
    rpcUrl: 'https://hidden-node-name.provider.example:8545/v2/the-key',
    reason: 'HttpTimeoutError: request timed out after 30000 ms',
  })
  await makeSquid({ listens: false, print: [startLine, failure] })
  await advance(60_000)
  expect(await processor()).toMatchObject({ status: 'STARTING', reason: null })
  expect(await findings()).toEqual([])
  await advance(75_000)
  const sentence = 'Its log reports for ***.provider.example:8545: it does not respond in time.'
  expect(await processor()).toMatchObject({ status: 'STALLED', reason: expect.stringContaining(sentence) })
  expect(await findings()).toMatchObject([
    {
      kind: 'SOURCE_SILENT',
      severity: 'CRITICAL',
      label: 'eth does not index',
      reason: expect.stringContaining(sentence),
    },
  ])
  expect((await getSquid()).alerts).toMatchObject([{ label: 'eth does not index' }])
  await advance(minutes(5))
  expect(await processor()).toMatchObject({ status: 'STUCK', reason: expect.stringContaining(sentence) })
  expect((await findings()).map(({ kind }) => kind)).toEqual(['SOURCE_SILENT'])
  expect(JSON.stringify(await getSquid())).not.toMatch(/hidden-node-name|the-key/)
})

test('if the log does not name the source, the reason lists the hosts in code and environment', async () => {
  const squid = await makeSquid({ listens: false, print: [startLine] })
  const spec = specOf('eth', metricsPort, { listens: false, print: [startLine] })
  const workload = workloadOf(squid, [
    { ...spec, env: { ...spec.env, NODE: 'wss://user:pass@node.example/key', X: '1' } },
  ])
  await updateSquid(t.app.db, squid.id, {
    sealedWorkload: sealWorkload(t.app.sealer, squid.id, workload),
    sourceHosts: ['v2.archive.example'],
  })
  await knownHeads.refresh()
  await advance(minutes(2.5))
  expect((await processor()).reason).toContain(
    'Its log does not say what it waits for. Its code and environment name v2.archive.example, node.example.',
  )
})

test('a program without the SDK and without metrics is reported as unknown after ten minutes', async () => {
  await makeSquid({ listens: false, print: ['indexing'] })
  await advance(minutes(9))
  expect((await processor()).status).toBe('STARTING')
  expect(await findings()).toEqual([])
  await advance(minutes(1.1))
  expect((await processor()).status).toBe('UNKNOWN')
  expect(await findings()).toMatchObject([{ kind: 'SOURCE_SILENT', severity: 'WARNING' }])
})
