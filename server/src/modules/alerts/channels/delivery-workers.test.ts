import type { IncomingHttpHeaders } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import { startJobs, type Job, type Jobs } from '../../../jobs/jobs.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { channelJobs, queueDeliveriesWithoutJob } from './delivery-jobs.ts'
import { deliverQueue } from './delivery-queue.ts'
import { systemNetwork } from './network-access.ts'
import { alertMaker } from './testing/alert-maker.ts'
import { startReceiver, type Receiver } from './testing/receiver.ts'

let t: TestApp
let alert: ReturnType<typeof alertMaker>
let org: TestOrg
let receiver: Receiver
let other: Receiver

beforeAll(async () => {
  t = await startTestApp({ env: { SHOAL_ALERTS_ALLOW_PRIVATE: 'true' } })
  alert = alertMaker(t)
})
afterAll(() => t.close())
beforeEach(async () => {
  ;[receiver, other] = await Promise.all([startReceiver(), startReceiver()])
  org = await t.make.org()
  await turnMailOff()
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()))
  // Pending deliveries must not be sent in a later test.
  await t.app.database.pool.query('delete from alert_channels')
  await Promise.all([receiver.close(), other.close()])
})

const api = () => t.as(org.admin).alerts
const params = () => ({ code: org.code })
const add = async (type: 'webhook', url: string) =>
  await api().addChannel({ params: params(), body: { type, name: url.slice(-20), url } })
const channelParams = (channel: { id: number }) => ({ ...params(), channelId: String(channel.id) })
const deliveries = () => api().listDeliveries({ params: params() })
const statuses = async () =>
  (await deliveries()).map(({ channel, what, status }) => `${channel.type} ${what} ${status}`)
const turnMailOff = async () => {
  const [channel] = await api().listChannels({ params: params() })
  if (channel) await api().changeChannel({ params: channelParams(channel), body: { name: 'Email', isEnabled: false } })
}

/** `alert-<id>-opened` or `-ended`: the id of the message without its time. */
const messageOf = (headers: IncomingHttpHeaders) => String(headers['webhook-id']).replace(/-\d+$/, '')

const network = { networkAccess: systemNetwork(true), timeoutMs: 2_000 }

/** Sends all deliveries that are due at the clock's time. */
const deliverAll = () => t.runJobs(channelJobs(t.app, network))

const workers: Jobs[] = []
/** Starts a worker that runs only the delivery job. */
async function startDeliveryWorker(timeoutMs = network.timeoutMs): Promise<Jobs> {
  const worker = await startJobs(t.app.database, t.app.log, [deliverQueue])
  workers.push(worker)
  await worker.work(channelJobs(t.app, { ...network, timeoutMs }).slice(0, 1))
  return worker
}

/** The delivery job of a worker that is killed when `signal` aborts: the job is neither completed nor failed. */
function jobOfKilledWorker(signal: AbortSignal): Job<never>[] {
  return channelJobs(t.app, { ...network, timeoutMs: 60_000 })
    .slice(0, 1)
    .map((job) => ({ ...job, run: (data, { id }) => job.run(data, { id, signal }) }))
}

test('a receiver that hangs does not delay a fast one', async () => {
  await add('webhook', receiver.url)
  await add('webhook', other.url)
  receiver.onRequest(() => undefined)
  for (let n = 0; n < 5; n++) await alert.open(org)
  await startDeliveryWorker(60_000)
  await until(() => expect([receiver.received.length, other.received.length]).toEqual([1, 5]))
})

test('an organization with many receivers that hang does not delay another organization', async () => {
  for (let n = 0; n < 12; n++) await add('webhook', receiver.url)
  receiver.onRequest(() => undefined)
  await alert.open(org)
  await startDeliveryWorker(60_000)
  await until(() => expect(receiver.received.length).toBe(4))
  org = await t.make.org()
  await turnMailOff()
  await add('webhook', other.url)
  for (let n = 0; n < 5; n++) await alert.open(org)
  await until(() => expect(other.received.length).toBe(5))
  expect(receiver.received.length).toBe(4)
})

test('a message that a killed worker sent but did not record is sent again, with the same id, after a delay', async () => {
  await add('webhook', receiver.url)
  const killed = new AbortController()
  receiver.onRequest(() => killed.abort())
  await alert.open(org)
  await expect(t.runJobs(jobOfKilledWorker(killed.signal))).rejects.toThrow()
  expect(await deliveries()).toMatchObject([{ status: 'PENDING', tries: 1, error: null }])
  receiver.onRequest((response) => response.writeHead(200).end())
  await deliverAll()
  t.clock.advance(61_000)
  // The job expires, and is retried within a minute.
  await deliverAll()
  expect(receiver.received).toHaveLength(1)
  t.clock.advance(60_000)
  await deliverAll()
  const [first, second] = receiver.received
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(second?.body).toBe(first?.body)
  expect(await deliveries()).toMatchObject([{ status: 'DELIVERED', tries: 2 }])
})

test('a message whose result was recorded is not sent again when the worker is killed before its job is completed', async () => {
  await add('webhook', receiver.url)
  await alert.open(org)
  const [deliverJob] = channelJobs(t.app, network)
  const killed: Job<never> = {
    ...deliverQueue,
    run: async (data, context) => {
      await deliverJob?.run(data, context)
      throw new Error('killed')
    },
  }
  await expect(t.runJobs([killed])).rejects.toThrow('killed')
  t.clock.advance(61_000)
  await deliverAll()
  t.clock.advance(60_000)
  await deliverAll()
  expect(receiver.received).toHaveLength(1)
  expect(await deliveries()).toMatchObject([{ status: 'DELIVERED', tries: 1 }])
})

test('the failure of an attempt that outlasted its job does not replace the result of the next attempt', async () => {
  await add('webhook', receiver.url)
  await alert.open(org)
  let finish = (): void => undefined
  receiver.onRequest((response) => {
    finish = () => response.writeHead(410).end()
  })
  const suspended = t.runJobs(jobOfKilledWorker(new AbortController().signal))
  await until(() => expect(receiver.received).toHaveLength(1))
  receiver.onRequest((response) => response.writeHead(500).end())
  t.clock.advance(61_000)
  await deliverAll()
  t.clock.advance(60_000)
  await deliverAll()
  finish()
  await suspended
  expect(await deliveries()).toMatchObject([{ status: 'PENDING', tries: 2, httpStatus: 500 }])
  receiver.onRequest((response) => response.writeHead(200).end())
  t.clock.advance(minutes(1))
  await deliverAll()
  expect(await deliveries()).toMatchObject([{ status: 'DELIVERED', tries: 3 }])
})

test('a message whose result could not be recorded is sent again, with the same id', async () => {
  await add('webhook', receiver.url)
  await alert.open(org)
  const { pool } = t.app.database
  receiver.onRequest((response) => {
    void pool.query('alter table alert_channels rename to renamed_channels').then(() => response.writeHead(200).end())
  })
  await expect(deliverAll()).rejects.toThrow()
  await pool.query('alter table renamed_channels rename to alert_channels')
  expect(await deliveries()).toMatchObject([{ status: 'PENDING', tries: 1 }])
  receiver.onRequest((response) => response.writeHead(200).end())
  t.clock.advance(61_000)
  await deliverAll()
  t.clock.advance(60_000)
  await deliverAll()
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(receiver.received).toHaveLength(2)
  expect(await deliveries()).toMatchObject([{ status: 'DELIVERED', tries: 2 }])
})

test('a worker continues after its database connections were closed', async () => {
  await add('webhook', receiver.url)
  await startDeliveryWorker()
  await t.app.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'shoal-jobs' and datname = current_database()`,
  )
  await alert.open(org)
  await until(async () => expect(await statuses()).toEqual(['webhook OPENED DELIVERED']))
})

test('concurrent workers send each message once, and the opening of each alert before its end', async () => {
  for (let n = 0; n < 4; n++) await add('webhook', `${receiver.url}/${n}`)
  const ids: number[] = []
  for (let n = 0; n < 5; n++) ids.push(await alert.open(org))
  for (const id of ids) await alert.end(org, id)
  await Promise.all([startDeliveryWorker(), startDeliveryWorker(), startDeliveryWorker()])
  await until(async () => expect((await statuses()).filter((status) => status.endsWith('DELIVERED'))).toHaveLength(40))
  const messages = receiver.received.map(({ path, headers }) => `${path} ${messageOf(headers)}`)
  expect(messages).toHaveLength(40)
  expect(new Set(messages).size).toBe(40)
  for (const opened of messages.filter((message) => message.endsWith('-opened')))
    expect(messages.indexOf(opened)).toBeLessThan(messages.indexOf(opened.replace('-opened', '-ended')))
})

test('a worker sends all queued messages without a pause, and can shut down during a request', async () => {
  await add('webhook', receiver.url)
  await add('webhook', other.url)
  receiver.onRequest(() => undefined)
  for (let n = 0; n < 12; n++) await alert.open(org)
  const running = await startDeliveryWorker(60_000)
  // The worker polls for new jobs once a second, but runs all queued ones without waiting for the next poll.
  await until(() => expect([receiver.received.length, other.received.length]).toEqual([1, 12]))
  await until(async () => expect((await statuses()).filter((status) => status.endsWith('DELIVERED'))).toHaveLength(12))
  await running.close()
  expect((await deliveries()).filter(({ status }) => status === 'PENDING')).toHaveLength(12)
  expect((await deliveries()).filter(({ tries, error }) => tries === 1 && error === null)).toHaveLength(13)
  // The next worker does not repeat the interrupted attempt immediately.
  receiver.onRequest((response) => response.writeHead(200).end())
  await deliverAll()
  expect(receiver.received).toHaveLength(12)
  t.clock.advance(60_000)
  await deliverAll()
  expect(receiver.received).toHaveLength(13)
  expect((await statuses()).filter((status) => status.endsWith('DELIVERED'))).toHaveLength(24)
})

test('a delivery and its job are stored in the transaction of the alert, or neither is', async () => {
  await add('webhook', receiver.url)
  const rolledBack = t.app.db.transaction(async () => {
    await alert.open(org)
    throw new Error('rolled back')
  })
  await expect(rolledBack).rejects.toThrow('rolled back')
  expect(await deliverAll()).toBe(0)
  expect(await deliveries()).toEqual([])
})

test('a channel may be removed while a message is being sent to it, or before its job runs', async () => {
  const { channel } = await add('webhook', receiver.url)
  await add('webhook', other.url)
  receiver.onRequest((response) => {
    void api()
      .removeChannel({ params: channelParams(channel) })
      .then(() => response.writeHead(500).end())
  })
  await alert.open(org)
  await alert.open(org)
  expect(await deliverAll()).toBe(4)
  expect([receiver.received.length, other.received.length]).toEqual([1, 2])
  expect(await statuses()).toEqual(['webhook OPENED DELIVERED', 'webhook OPENED DELIVERED'])
  expect(await deliverAll()).toBe(0)
})

test('pending deliveries of an earlier release, which had no jobs, are sent once, when they are due', async () => {
  await add('webhook', receiver.url)
  receiver.onRequest((response) => response.writeHead(500).end())
  await alert.open(org)
  await deliverAll()
  await alert.open(org)
  const { pool } = t.app.database
  await pool.query(`delete from pgboss.job where name = $1`, [deliverQueue.name])
  await pool.query('update alert_deliveries set job_id = null')
  receiver.onRequest((response) => response.writeHead(200).end())
  expect(await deliverAll()).toBe(0)
  const queued = await Promise.all([queueDeliveriesWithoutJob(t.app), queueDeliveriesWithoutJob(t.app)])
  expect(queued.reduce((a, b) => a + b)).toBe(2)
  expect(await queueDeliveriesWithoutJob(t.app)).toBe(0)
  await deliverAll()
  expect(receiver.received).toHaveLength(2)
  t.clock.advance(10_000)
  await deliverAll()
  expect(receiver.received).toHaveLength(3)
  expect(await statuses()).toEqual(['webhook OPENED DELIVERED', 'webhook OPENED DELIVERED'])
  expect(await deliverAll()).toBe(0)
})
