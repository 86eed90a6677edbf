import type { Socket } from 'node:net'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { limitConnections } from '../connections.ts'
import { startSecondServer, type SecondServer } from '../testing/second-server.ts'
import { createTenants, isOpen, type Tenant, type Tenants } from '../testing/tenants.ts'
import { createNotificationWatch } from './notification-watch.ts'

let t: TestApp
let server: SecondServer
let tenants: Tenants
beforeAll(async () => {
  // A separate server with a queue of 2 MB, since tests fill it.
  ;[t, server] = await Promise.all([startTestApp(), startSecondServer(120, { max_notify_queue_pages: '256' })])
  t.app.databaseHosts = singleHost(server.cluster)
  tenants = createTenants(t)
})
let hostile: Tenant
let other: Tenant
beforeEach(async () => {
  await trimQueue()
  ;[hostile, other] = [await tenants.add(), await tenants.add()]
})
afterEach(() => tenants.endSessions())
afterAll(async () => {
  await server?.close()
  await t?.close()
})

/** Lets Postgres remove the notifications that all sessions have read. A queue that was full stays so until then. */
const trimQueue = () => server.cluster.pool.query('select pg_notification_queue_usage()')

/** Opens a session that listens and keeps a transaction open. */
async function openListener(tenant: Tenant): Promise<Client> {
  const client = await tenants.open(tenant)
  await client.query('listen news')
  await client.query('begin; select 1')
  return client
}

const send = (client: Client) => client.query(`select pg_notify('news', repeat('x', 7000) || gen_random_uuid())`)
/** Sends notifications until the queue is full. */
async function fill(client: Client): Promise<void> {
  for (;;)
    try {
      await send(client)
    } catch (error) {
      expect((error as Error).message).toContain('too many notifications in the NOTIFY queue')
      return
    }
}

/** Runs rounds of the watch until `isDone` returns true: Postgres names a session only once in five seconds. */
async function watchUntil(isDone: () => Promise<boolean>): Promise<void> {
  const watch = createNotificationWatch(t.app)
  await expect
    .poll(
      async () => {
        await watch()
        return await isDone()
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBe(true)
}

const canSend = (client: Client) =>
  send(client).then(
    () => true,
    () => false,
  )

test('the others can send notifications again after a tenant has kept the queue full, and the log of the tenant shows why', async () => {
  const listener = await openListener(hostile)
  const [neighbour, transaction] = [await tenants.open(other), await tenants.open(other)]
  await transaction.query('begin; select 1')
  await fill(await tenants.open(hostile))
  expect(await canSend(neighbour)).toBe(false)
  await watchUntil(() => canSend(neighbour))
  expect(await isOpen(listener)).toBe(false)
  expect(await isOpen(transaction)).toBe(true)
  expect(await tenants.noticesOf(hostile)).toEqual([
    expect.stringMatching(/^Shoal ended a database session that had not read its notifications/),
  ])
  expect(await tenants.noticesOf(other)).toEqual([])
})

test('a session that does not read from its connection cannot keep the queue', async () => {
  // Without the proxy, which reads everything.
  const { rows } = await server.cluster.pool.query<{ port: number }>('select inet_server_port() as port')
  const url = new URL(hostile.url)
  url.port = String(rows[0]?.port)
  // Not with `tenants`, which could not end the session: its connection is paused.
  const listener = new Client(url.href)
  listener.on('error', () => {})
  await listener.connect()
  await listener.query('listen news')
  const { processID, connection } = listener as unknown as { processID: number; connection: { stream: Socket } }
  connection.stream.pause()
  onTestFinished(() => void connection.stream.destroy())
  const [sender, neighbour] = [await tenants.open(hostile), await tenants.open(other)]
  const waitEvent = 'select wait_event as event from pg_stat_activity where pid = $1'
  await expect
    .poll(
      async () => {
        // The listener's connection has buffers, too.
        await trimQueue()
        await fill(sender)
        return (await server.cluster.pool.query(waitEvent, [processID])).rows
      },
      { timeout: 60_000 },
    )
    .toEqual([{ event: 'ClientWrite' }])
  await fill(sender)
  await watchUntil(() => canSend(neighbour))
  expect(await tenants.noticesOf(hostile)).toHaveLength(1)
})

test('a tenant that keeps the queue again within a minute gets no connections until its limits are set again', async () => {
  const listeners = [await openListener(hostile), await openListener(hostile), await openListener(hostile)]
  const neighbour = await tenants.open(other)
  await fill(neighbour)
  await watchUntil(() => canSend(neighbour))
  expect(await Promise.all(listeners.map(isOpen))).toEqual([false, false, false])
  await expect(tenants.open(hostile)).rejects.toThrow('too many connections for role')
  expect((await tenants.noticesOf(hostile)).at(-1)).toContain('refuses new connections for up to 30 s')
  await limitConnections(t.app)
  await tenants.open(hostile)
})

test('a tenant that sends continuously, and so receives the warnings of Postgres, cannot keep the queue', async () => {
  const listener = await openListener(hostile)
  let isStopped = false
  const sendAlways = async () => {
    const client = await tenants.open(hostile)
    while (!isStopped && !(await send(client).then(() => false, isLost)));
  }
  const isLost = (error: unknown) => !(error as Error).message.includes('NOTIFY queue')
  await fill(await tenants.open(hostile))
  const senders = Promise.all(Array.from({ length: 8 }, sendAlways))
  await watchUntil(async () => !(await isOpen(listener)))
  isStopped = true
  await senders
  expect(await tenants.noticesOf(hostile)).not.toEqual([])
  const neighbour = await tenants.open(other)
  await watchUntil(() => canSend(neighbour))
})
