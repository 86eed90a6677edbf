import type { AlertEvent } from '@shoal/contract'
import type { SimBehaviour, SimSync } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { days, hours, minutes } from '../../clock.ts'
import { retentionJobs } from '../../startup/retention.ts'
import type { TestOrg } from '../../testing/index.ts'
import { addIngressMinutes, bucketCount, bucketOf } from '../metrics/index.ts'
import { addUsage, monthOf } from '../rpc/index.ts'
import { deleteSquid, sealWorkload, setLastDeploy, updateSquid, type SquidRow } from '../versions/index.ts'
import { makeVersion, specOf, workloadOf } from '../versions/testing/make-version.ts'
import { metricsPort } from '../manifest/workload.ts'
import { startAlertedApp, type AlertedApp } from './testing/alerted-app.ts'

/** For a test that simulates more than a day. */
const longTimeout = { timeout: 120_000 }

let a: AlertedApp
let org: TestOrg
beforeEach(async () => {
  a = await startAlertedApp()
  org = await a.t.make.org()
})
afterEach(() => a.close())

const params = () => ({ code: org.code })
const api = () => a.t.as(org.admin).alerts
const sql = async <Row extends object>(text: string, values: unknown[]) =>
  (await a.t.app.database.pool.query<Row>(text, values)).rows
const deliveries = () =>
  sql<{ what: string; label: string }>('select what, label from alert_deliveries where org_id = $1 order by id', [
    org.id,
  ])

const moving: SimSync = { fromBlock: 1000, headBlock: 1000, headBlocksPerSecond: 1, blocksPerSecond: 100 }
const processor = (sync: Partial<SimSync>): SimBehaviour => ({ sync: { ...moving, ...sync } })
const version = (name: string, behaviour: SimBehaviour) =>
  makeVersion(a.t.app, org, { name, processors: { eth: behaviour } })
/** Replaces the processor of a version with one that behaves like this. */
const replace = (squid: SquidRow, behaviour: SimBehaviour) =>
  a.runtime.apply(workloadOf(squid, [specOf('eth', metricsPort, behaviour)]))

/** Sets an RPC URL of our gateway in the environment of the version, so that its chain is known. */
async function setChain(squid: SquidRow, chain: string): Promise<void> {
  const env = { RPC_URL: `http://localhost:4001/rpc/${chain}/shoal_rpc_${'x'.repeat(32)}` }
  const workload = workloadOf(squid, [{ ...specOf('eth', metricsPort, {}), env }])
  await updateSquid(a.t.app.db, squid.id, { sealedWorkload: sealWorkload(a.t.app.sealer, squid.id, workload) })
}

const summaries = (events: AlertEvent[]) =>
  events.map(({ kind, squid, container, severity }) => [kind, squid?.name, container, severity].join(' ')).toSorted()

test('every kind of alert is opened once while its cause exists, and ends after it', longTimeout, async () => {
  const { app } = a.t
  const startMs = a.clock.now().getTime()
  const seconds = () => Math.floor((a.clock.now().getTime() - startMs) / 1000)
  await version('looping', { ...processor({}), ends: { afterMs: 10, exitCode: 1 }, badRuns: 7 })
  await version('hungry', { ...processor({}), ends: { afterMs: 5000, outOfMemory: true }, badRuns: 1 })
  const silent = await version('silent', { isDeaf: true })
  const stalled = await version('stalled', processor({ fromBlock: 0, stallsAtBlock: 300 }))
  const lagging = await version('lagging', processor({ headBlocksPerSecond: 10, blocksPerSecond: 1 }))
  const wrong = await version('wrong', processor({}))
  await setChain(wrong, 'eth')
  a.showHead('eth', () => 1000 + seconds())
  const frozen = await version('frozen', processor({}))
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
  await a.t.as(org.admin).billing.updateLimits({
    params: params(),
    body: { spendCapUsd: null, atCap: 'stop_deploys', rpcRequestsCap: 1000 },
  })
  const hour = new Date('2026-01-15T11:00:00Z')
  const use = (requests: number) =>
    addUsage(app.db, [{ orgId: org.id, chain: 'eth', method: 'm', version: '', hour, requests, failures: 0 }])
  await use(950)
  await a.t.make.status(org, 'PAYMENT_ISSUES')
  await a.pass(minutes(3))
  const stopsAt = 1000 + seconds()
  await replace(wrong, processor({ fromBlock: stopsAt, headBlock: stopsAt, headBlocksPerSecond: 0 }))
  await a.pass(minutes(2))
  const histogram = Array.from({ length: bucketCount }, (_, i) => (i === bucketOf(5000) ? 30 : 0))
  const minute = new Date(Math.floor(a.clock.now().getTime() / 60_000) * 60_000)
  await addIngressMinutes(app.database, [
    { squidId: slow.id, minute, successes: 30, errors: 0, successBytes: 0, errorBytes: 0, histogram },
  ])
  const height = 1000 + seconds()
  await replace(frozen, processor({ fromBlock: height, headBlock: height, headBlocksPerSecond: 0 }))
  await a.pass(minutes(2))
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
  expect(summaries(await a.alerts(org))).toEqual(expected)
  // The slow version had no more requests, and the looping one runs.
  await a.pass(minutes(11))
  expect(summaries(await a.alerts(org))).toEqual(
    [
      ...expected.filter((summary) => !/^(API_SLOW|CRASH_LOOP)/.test(summary)),
      'FROZEN_HEAD frozen eth WARNING',
      'SOURCE_SILENT silent eth WARNING',
    ].toSorted(),
  )
  expect(
    (await a.t.as(org.admin).squids.get({ params: { ...params(), reference: 'wrong@v1' } })).processors,
  ).toMatchObject([
    { status: 'STUCK', lag: { blocks: 1000 + seconds() - stopsAt, head: 1000 + seconds(), source: 'rpc' } },
  ])

  for (const squid of [stalled, lagging, wrong, frozen, silent]) {
    const head = 1000 + seconds()
    await replace(squid, processor({ fromBlock: head, headBlock: head }))
  }
  await sql('update squid_databases set total_bytes = 2000 where squid_id = $1', [full.id])
  await setLastDeploy(app.db, failed.id, { ...lastDeploy, status: 'OK', failed: 'NO' })
  await a.t.make.status(org, 'ACTIVE')
  await sql('delete from quota_usage where org_id = $1 and month = $2', [org.id, monthOf(hour)])
  await a.pass(minutes(10))
  expect(summaries(await a.alerts(org))).toEqual(['OUT_OF_MEMORY hungry eth WARNING'])
  a.passUnseen(hours(24))
  await a.pass(minutes(2))
  expect(await a.alerts(org)).toEqual([])
  const ended = await a.alerts(org, 'ended')
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

test('open alerts stay open when the worker is killed, and are not notified twice', async () => {
  const squid = await version('stalled', stalling)
  await a.pass(minutes(7))
  const [opened] = await a.alerts(org)
  expect(opened).toMatchObject({ kind: 'STALLED', label: 'eth is stuck', endedAt: null, isMuted: false })
  for (let i = 0; i < 3; i++) {
    a.passUnseen(minutes(3))
    await a.restart()
    await a.pass(minutes(1))
  }
  expect(await a.alerts(org)).toEqual([opened])
  expect(await messageKinds()).toEqual(['OPENED'])
  await replace(squid, processor({ fromBlock: 1900, headBlock: 1900 }))
  await a.pass(minutes(3))
  expect(await a.alerts(org)).toEqual([])
  expect(await a.alerts(org, 'ended')).toMatchObject([{ id: opened?.id, startedAt: opened?.startedAt }])
  expect(await messageKinds()).toEqual(['OPENED', 'ENDED'])
})

test('a muted alert is not notified, unless it is still open when the mute ends', async () => {
  const squid = await version('stalled', stalling)
  await expect(
    api().mute({ params: params(), body: { kind: null, squidId: squid.id + 1, minutes: 30 } }),
  ).rejects.toMatchObject({ status: 404 })
  const mute = await api().mute({ params: params(), body: { kind: 'STALLED', squidId: squid.id, minutes: 15 } })
  expect(mute).toMatchObject({ squid: { name: 'stalled', slot: 'v1' }, createdBy: 'Ada Lovelace' })
  expect(await api().listMutes({ params: params() })).toEqual([mute])
  await a.pass(minutes(7))
  expect(await a.alerts(org)).toMatchObject([{ kind: 'STALLED', isMuted: true }])
  expect(await messageKinds()).toEqual([])
  await a.pass(minutes(10))
  expect(await a.alerts(org)).toMatchObject([{ isMuted: false }])
  expect(await messageKinds()).toEqual(['OPENED'])
  expect(await api().listMutes({ params: params() })).toEqual([])

  const other = await version('other', stalling)
  const all = await api().mute({ params: params(), body: { kind: null, squidId: null, minutes: 60 } })
  await a.pass(minutes(7))
  await replace(other, processor({ fromBlock: 2500, headBlock: 2500 }))
  await a.pass(minutes(3))
  await api().unmute({ params: { ...params(), muteId: String(all.id) } })
  await a.pass(minutes(1))
  expect((await a.alerts(org, 'ended')).map(({ squid: of, isMuted }) => [of?.name, isMuted])).toEqual([['other', true]])
  expect(await messageKinds()).toEqual(['OPENED'])
})

test('each organization has its own rules, and a disabled rule opens no alerts', async () => {
  const neighbour = await a.t.make.org()
  await version('stalled', stalling)
  await makeVersion(a.t.app, neighbour, { name: 'theirs', processors: { eth: stalling } })
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
  await a.pass(minutes(7))
  expect(summaries(await a.alerts(org))).toEqual([])
  expect(summaries(await a.alerts(neighbour))).toEqual(['STALLED theirs eth CRITICAL'])
  await a.pass(minutes(5))
  expect(summaries(await a.alerts(org))).toEqual(['STALLED stalled eth CRITICAL'])
  await change(false, 10)
  await a.pass(0)
  expect(await a.alerts(org)).toEqual([])
  expect(summaries(await a.alerts(neighbour))).toHaveLength(1)
  expect(await messageKinds()).toEqual(['OPENED'])
})

test('alerts of a version that is hibernated, redeployed or deleted end immediately, and only webhooks are notified', async () => {
  const url = 'https://hooks.example.com/in'
  const { channel } = await api().addChannel({ params: params(), body: { type: 'webhook', name: 'hook', url } })
  const squids = []
  for (const name of ['asleep', 'deployed', 'deleted']) squids.push(await version(name, stalling))
  await a.pass(minutes(7))
  expect(await a.alerts(org)).toHaveLength(3)
  const [asleep = 0, deployed = 0, deleted = 0] = squids.map(({ id }) => id)
  await updateSquid(a.t.app.db, asleep, { wanted: 'hibernated' })
  await setLastDeploy(a.t.app.db, deployed, {
    id: 2,
    type: 'DEPLOY',
    status: 'IMAGE_BUILDING',
    failed: 'NO',
    running: true,
  })
  await deleteSquid(a.t.app.db, deleted)
  await a.pass(0)
  expect(await a.alerts(org)).toEqual([])
  expect((await a.alerts(org, 'ended')).map(({ squid }) => squid?.name)).toEqual(['deleted', 'deployed', 'asleep'])
  const ends = await sql("select channel_id from alert_deliveries where org_id = $1 and what = 'ENDED'", [org.id])
  expect(ends).toEqual(squids.map(() => ({ channel_id: channel.id })))
})

test('an alert that becomes critical is notified once more, and old alerts are deleted', async () => {
  await a.t.make.status(org, 'PAYMENT_ISSUES')
  await a.pass(minutes(1))
  await a.t.make.status(org, 'IN_DEBT')
  await a.pass(minutes(1))
  expect(await a.alerts(org)).toMatchObject([{ kind: 'PAYMENT', severity: 'CRITICAL', label: 'Payment is overdue' }])
  await a.t.make.status(org, 'ACTIVE')
  await a.pass(minutes(2))
  expect((await deliveries()).map(({ what, label }) => `${what} ${label}`)).toEqual([
    'OPENED A payment failed',
    'OPENED Payment is overdue',
    'ENDED Payment is overdue',
  ])
  a.passUnseen(days(91))
  for (const job of retentionJobs(a.t.app)) await job.run(undefined as never)
  expect(await sql('select id from alert_events where org_id = $1', [org.id])).toEqual([])
  expect(await deliveries()).toEqual([])
})
