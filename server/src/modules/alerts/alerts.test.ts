import type { AlertEvent } from '@shoal/contract'
import type { SimBehaviour, SimSync } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { days, firstDayOfMonth, hours, minutes } from '../../clock.ts'
import { retentionJobs } from '../../startup/retention.ts'
import type { TestOrg } from '../../testing/index.ts'
import { runJob } from '../../testing/run-job.ts'
import { addIngressMinutes, bucketCount, bucketOf } from '../metrics/index.ts'
import { addRpcUsage } from '../rpc/index.ts'
import { deleteSquid, sealWorkload, setLastDeploy, updateSquid, type SquidRow } from '../versions/index.ts'
import { makeVersion, specOf, workloadOf } from '../versions/testing/make-version.ts'
import { metricsPort } from '../containers.ts'
import { startAlertTestApp, type AlertTestApp } from './testing/alert-test-app.ts'

/** Timeout of a test that simulates more than a day. */
const longTimeout = { timeout: 120_000 }

let testApp: AlertTestApp
let org: TestOrg
beforeEach(async () => {
  testApp = await startAlertTestApp()
  org = await testApp.t.make.org()
})
afterEach(() => testApp.close())

const params = () => ({ code: org.code })
const api = () => testApp.t.as(org.admin).alerts
const sql = async <Row extends object>(text: string, values: unknown[]) =>
  (await testApp.t.app.database.pool.query<Row>(text, values)).rows
const deliveries = () =>
  sql<{ what: string; label: string }>('select what, label from alert_deliveries where org_id = $1 order by id', [
    org.id,
  ])

const syncedAtHead: SimSync = { fromBlock: 1000, headBlock: 1000, headBlocksPerSecond: 1, blocksPerSecond: 100 }
const processor = (sync: Partial<SimSync>): SimBehaviour => ({ sync: { ...syncedAtHead, ...sync } })
const addVersion = (name: string, behaviour: SimBehaviour) =>
  makeVersion(testApp.t.app, org, { name, processors: { eth: behaviour } })
/** Replaces the processor of a version with one that has this behaviour. */
const replaceProcessor = (squid: SquidRow, behaviour: SimBehaviour) =>
  testApp.runtime.apply(workloadOf(squid, [specOf('eth', metricsPort, behaviour)]))

/** Gives the version an RPC URL of the gateway, from which its chain is known. */
async function setChain(squid: SquidRow, chain: string): Promise<void> {
  const env = { RPC_URL: `http://localhost:4001/rpc/${chain}/shoal_rpc_${'x'.repeat(32)}` }
  const workload = workloadOf(squid, [{ ...specOf('eth', metricsPort, {}), env }])
  await updateSquid(testApp.t.app.db, squid.id, {
    sealedWorkload: sealWorkload(testApp.t.app.sealer, squid.id, workload),
  })
}

const summaries = (events: AlertEvent[]) =>
  events.map(({ kind, squid, container, severity }) => [kind, squid?.name, container, severity].join(' ')).toSorted()

test('every kind of alert opens once while its cause exists, and ends afterwards', longTimeout, async () => {
  const { app } = testApp.t
  const startMs = testApp.clock.now().getTime()
  const seconds = () => Math.floor((testApp.clock.now().getTime() - startMs) / 1000)
  await addVersion('looping', { ...processor({}), ends: { afterMs: 10, exitCode: 1 }, endingRuns: 7 })
  await addVersion('hungry', { ...processor({}), ends: { afterMs: 5000, outOfMemory: true }, endingRuns: 1 })
  const silent = await addVersion('silent', { listens: false })
  const stalled = await addVersion('stalled', processor({ fromBlock: 0, stallsAtBlock: 300 }))
  const lagging = await addVersion('lagging', processor({ headBlocksPerSecond: 10, blocksPerSecond: 1 }))
  const wrong = await addVersion('wrong', processor({}))
  await setChain(wrong, 'eth')
  testApp.setHead('eth', () => 1000 + seconds())
  const frozen = await addVersion('frozen', processor({}))
  await makeVersion(app, org, { name: 'down', apis: [{ startMs: minutes(20) }] })
  const slow = await makeVersion(app, org, { name: 'slow', apis: [{}] })
  const full = await makeVersion(app, org, { name: 'full' })
  await sql(
    `insert into squid_databases (squid_id, database, role, sealed_password, read_role, sealed_read_password, version,
       profile, total_bytes, used_bytes) values ($1, 'd', 'r', '', 'q', '', '16', 'small', 1000, 850)`,
    [full.id],
  )
  const failed = await makeVersion(app, org, { name: 'failed' })
  const lastDeploy = { id: 1, type: 'DEPLOY', status: 'IMAGE_BUILDING', running: false } as const
  await setLastDeploy(app.db, failed.id, { ...lastDeploy, failed: 'SOURCE_FILES_BUILD_FAILED' })
  await testApp.t.as(org.admin).billing.updateLimits({
    params: params(),
    body: { spendCapUsd: null, atCap: 'stop_deploys', rpcRequestsCap: 1000 },
  })
  const hour = new Date('2026-01-15T11:00:00Z')
  const addRequests = (requests: number) =>
    addRpcUsage(app.db, [{ orgId: org.id, chain: 'eth', method: 'm', version: '', hour, requests, failures: 0 }])
  await addRequests(950)
  await testApp.t.make.status(org, 'PAYMENT_ISSUES')
  await testApp.advance(minutes(3))
  const stoppedHead = 1000 + seconds()
  await replaceProcessor(wrong, processor({ fromBlock: stoppedHead, headBlock: stoppedHead, headBlocksPerSecond: 0 }))
  await testApp.advance(minutes(2))
  const histogram = Array.from({ length: bucketCount }, (_, i) => (i === bucketOf(5000) ? 30 : 0))
  const minute = new Date(Math.floor(testApp.clock.now().getTime() / 60_000) * 60_000)
  await addIngressMinutes(app.database, [
    { squidId: slow.id, minute, successes: 30, errors: 0, failures: 0, successBytes: 0, errorBytes: 0, histogram },
  ])
  const height = 1000 + seconds()
  await replaceProcessor(frozen, processor({ fromBlock: height, headBlock: height, headBlocksPerSecond: 0 }))
  await testApp.advance(minutes(2))
  const expected = [
    'API_DOWN down api CRITICAL',
    'API_SLOW slow api WARNING',
    'CRASH_LOOP looping eth CRITICAL',
    'DEPLOY_FAILED failed  WARNING',
    'LAGGING lagging eth WARNING',
    'LOW_SPACE full db WARNING',
    'OUT_OF_MEMORY hungry eth WARNING',
    'PAYMENT   WARNING',
    'QUOTA_NEAR  rpc WARNING',
    'STALLED stalled eth CRITICAL',
    'WRONG_SYNCED wrong eth CRITICAL',
  ]
  expect(summaries(await testApp.alerts(org))).toEqual(expected)
  // The slow version received no more requests, and the looping one now runs.
  await testApp.advance(minutes(11))
  expect(summaries(await testApp.alerts(org))).toEqual(
    [
      ...expected.filter((summary) => !/^(API_SLOW|CRASH_LOOP)/.test(summary)),
      'FROZEN_HEAD frozen eth WARNING',
      'SOURCE_SILENT silent eth WARNING',
    ].toSorted(),
  )
  expect(
    (await testApp.t.as(org.admin).squids.get({ params: { ...params(), reference: 'wrong@v1' } })).processors,
  ).toMatchObject([
    { status: 'STUCK', lag: { blocks: 1000 + seconds() - stoppedHead, head: 1000 + seconds(), source: 'rpc' } },
  ])

  for (const squid of [stalled, lagging, wrong, frozen, silent]) {
    const head = 1000 + seconds()
    await replaceProcessor(squid, processor({ fromBlock: head, headBlock: head }))
  }
  await sql('update squid_databases set total_bytes = 2000 where squid_id = $1', [full.id])
  await setLastDeploy(app.db, failed.id, { ...lastDeploy, status: 'OK', failed: 'NO' })
  await testApp.t.make.status(org, 'ACTIVE')
  await sql('delete from quota_usage where org_id = $1 and month = $2', [org.id, firstDayOfMonth(hour.getTime())])
  await testApp.advance(minutes(10))
  expect(summaries(await testApp.alerts(org))).toEqual(['OUT_OF_MEMORY hungry eth WARNING'])
  testApp.advanceWithoutWorker(hours(24))
  await testApp.advance(minutes(2))
  expect(await testApp.alerts(org)).toEqual([])
  const ended = await testApp.alerts(org, 'ended')
  expect(ended.map(({ kind }) => kind).toSorted()).toEqual(
    [...expected.map((summary) => summary.split(' ')[0] ?? ''), 'FROZEN_HEAD', 'SOURCE_SILENT'].toSorted(),
  )
  // The channel received the start and the end of each alert, and neither twice.
  const messages = (await deliveries()).map(({ what, label }) => `${what} ${label}`)
  expect(new Set(messages).size).toBe(messages.length)
  expect(messages).toHaveLength(26)
})

const stalling = processor({ fromBlock: 0, stallsAtBlock: 300 })
const messageKinds = async () => (await deliveries()).map(({ what }) => what)

test('open alerts stay open when the worker is killed, and channels are not notified twice', async () => {
  const squid = await addVersion('stalled', stalling)
  await testApp.advance(minutes(7))
  const [opened] = await testApp.alerts(org)
  expect(opened).toMatchObject({ kind: 'STALLED', label: 'eth is stuck', endedAt: null, isMuted: false })
  for (let i = 0; i < 3; i++) {
    testApp.advanceWithoutWorker(minutes(3))
    await testApp.restart()
    await testApp.advance(minutes(1))
  }
  expect(await testApp.alerts(org)).toEqual([opened])
  expect(await messageKinds()).toEqual(['OPENED'])
  await replaceProcessor(squid, processor({ fromBlock: 1900, headBlock: 1900 }))
  await testApp.advance(minutes(3))
  expect(await testApp.alerts(org)).toEqual([])
  expect(await testApp.alerts(org, 'ended')).toMatchObject([{ id: opened?.id, startedAt: opened?.startedAt }])
  expect(await messageKinds()).toEqual(['OPENED', 'ENDED'])
})

test('a mute requires an existing version, and is listed until it ends', async () => {
  const squid = await addVersion('stalled', stalling)
  await expect(
    api().mute({ params: params(), body: { kind: null, squidId: squid.id + 1, minutes: 30 } }),
  ).rejects.toMatchObject({ status: 404 })
  const mute = await api().mute({ params: params(), body: { kind: 'STALLED', squidId: squid.id, minutes: 15 } })
  expect(mute).toMatchObject({ squid: { name: 'stalled', slot: 'v1' }, createdBy: 'Ada Lovelace' })
  expect(await api().listMutes({ params: params() })).toEqual([mute])
  await testApp.advance(minutes(16))
  expect(await api().listMutes({ params: params() })).toEqual([])
})

test('channels are notified of a muted alert that is still open when the mute ends', async () => {
  const squid = await addVersion('stalled', stalling)
  await api().mute({ params: params(), body: { kind: 'STALLED', squidId: squid.id, minutes: 15 } })
  await testApp.advance(minutes(7))
  expect(await testApp.alerts(org)).toMatchObject([{ kind: 'STALLED', isMuted: true }])
  expect(await messageKinds()).toEqual([])
  await testApp.advance(minutes(10))
  expect(await testApp.alerts(org)).toMatchObject([{ isMuted: false }])
  expect(await messageKinds()).toEqual(['OPENED'])
})

test('channels are not notified of an alert that ended while it was muted', async () => {
  const other = await addVersion('other', stalling)
  const all = await api().mute({ params: params(), body: { kind: null, squidId: null, minutes: 60 } })
  await testApp.advance(minutes(7))
  await replaceProcessor(other, processor({ fromBlock: 2500, headBlock: 2500 }))
  await testApp.advance(minutes(3))
  await api().unmute({ params: { ...params(), muteId: String(all.id) } })
  await testApp.advance(minutes(1))
  expect((await testApp.alerts(org, 'ended')).map(({ squid, isMuted }) => [squid?.name, isMuted])).toEqual([
    ['other', true],
  ])
  expect(await messageKinds()).toEqual([])
})

test('each organization has its own rules, and a disabled rule opens no alerts', async () => {
  const neighbour = await testApp.t.make.org()
  await addVersion('stalled', stalling)
  await makeVersion(testApp.t.app, neighbour, { name: 'theirs', processors: { eth: stalling } })
  const change = (isEnabled: boolean, threshold: number | null, kind = 'STALLED') =>
    api().changeRule({ params: { ...params(), kind }, body: { isEnabled, threshold } })
  await expect(change(true, 0)).rejects.toMatchObject({ status: 400, message: 'A number between 1 and 1440' })
  await expect(change(true, 5, 'PAYMENT')).rejects.toMatchObject({ status: 400 })
  await expect(change(true, 5, 'WEATHER')).rejects.toMatchObject({ status: 404 })
  expect(await change(true, 10)).toEqual({ kind: 'STALLED', isEnabled: true, threshold: 10 })
  expect(await api().listRules({ params: params() })).toContainEqual({
    kind: 'STALLED',
    isEnabled: true,
    threshold: 10,
  })
  await testApp.advance(minutes(7))
  expect(summaries(await testApp.alerts(org))).toEqual([])
  expect(summaries(await testApp.alerts(neighbour))).toEqual(['STALLED theirs eth CRITICAL'])
  await testApp.advance(minutes(5))
  expect(summaries(await testApp.alerts(org))).toEqual(['STALLED stalled eth CRITICAL'])
  await change(false, 10)
  await testApp.advance(0)
  expect(await testApp.alerts(org)).toEqual([])
  expect(summaries(await testApp.alerts(neighbour))).toHaveLength(1)
  expect(await messageKinds()).toEqual(['OPENED'])
})

test('when a version is hibernated, redeployed or deleted, its alerts end immediately and only webhooks are notified', async () => {
  const url = 'https://hooks.example.com/in'
  const { channel } = await api().addChannel({ params: params(), body: { type: 'webhook', name: 'hook', url } })
  const squids = []
  for (const name of ['asleep', 'deployed', 'deleted']) squids.push(await addVersion(name, stalling))
  await testApp.advance(minutes(7))
  expect(await testApp.alerts(org)).toHaveLength(3)
  const [asleep = 0, deployed = 0, deleted = 0] = squids.map(({ id }) => id)
  await updateSquid(testApp.t.app.db, asleep, { desiredState: 'hibernated' })
  await setLastDeploy(testApp.t.app.db, deployed, {
    id: 2,
    type: 'DEPLOY',
    status: 'IMAGE_BUILDING',
    failed: 'NO',
    running: true,
  })
  await deleteSquid(testApp.t.app.db, deleted)
  await testApp.advance(0)
  expect(await testApp.alerts(org)).toEqual([])
  expect((await testApp.alerts(org, 'ended')).map(({ squid }) => squid?.name)).toEqual([
    'deleted',
    'deployed',
    'asleep',
  ])
  const ends = await sql("select channel_id from alert_deliveries where org_id = $1 and what = 'ENDED'", [org.id])
  expect(ends).toEqual(squids.map(() => ({ channel_id: channel.id })))
})

test('channels are notified again when an alert becomes critical, and old alerts are deleted', async () => {
  await testApp.t.make.status(org, 'PAYMENT_ISSUES')
  await testApp.advance(minutes(1))
  await testApp.t.make.status(org, 'IN_DEBT')
  await testApp.advance(minutes(1))
  expect(await testApp.alerts(org)).toMatchObject([
    { kind: 'PAYMENT', severity: 'CRITICAL', label: 'Payment is overdue' },
  ])
  await testApp.t.make.status(org, 'ACTIVE')
  await testApp.advance(minutes(2))
  expect((await deliveries()).map(({ what, label }) => `${what} ${label}`)).toEqual([
    'OPENED A payment failed',
    'OPENED Payment is overdue',
    'ENDED Payment is overdue',
  ])
  testApp.advanceWithoutWorker(days(91))
  for (const job of retentionJobs(testApp.t.app)) await runJob(job)
  expect(await sql('select id from alert_events where org_id = $1', [org.id])).toEqual([])
  expect(await deliveries()).toEqual([])
})
