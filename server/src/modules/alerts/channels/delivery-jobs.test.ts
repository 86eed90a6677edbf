import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { SMTPServer } from 'smtp-server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { days, minutes } from '../../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { runJob } from '../../../testing/run-job.ts'
import { listDeliveries } from './delivery-store.ts'
import { channelJobs } from './delivery-jobs.ts'
import { retryDelaysMs } from './delivery-schedule.ts'
import { systemNetwork } from './network-access.ts'
import { alertMaker } from './testing/alert-maker.ts'
import { startReceiver, type Receiver } from './testing/receiver.ts'
import { signatureHeaders } from './webhook.ts'

let t: TestApp
let alert: ReturnType<typeof alertMaker>
let org: TestOrg
let receiver: Receiver
let other: Receiver
const mails: string[] = []
let isMailDown = false
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onMailFrom: (_address, _session, done) => done(isMailDown ? new Error('451 host 10.9.8.7 is busy') : null),
  onData: (stream, _session, done) => {
    let raw = ''
    stream.on('data', (chunk: Buffer) => (raw += chunk.toString()))
    stream.on('end', () => (mails.push(raw), done()))
  },
})

beforeAll(async () => {
  await new Promise<void>((done) => void smtp.listen(0, '127.0.0.1', done))
  const address = smtp.server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  t = await startTestApp({ env: { SHOAL_MAIL_URL: `smtp://127.0.0.1:${port}`, SHOAL_ALERTS_ALLOW_PRIVATE: 'true' } })
  alert = alertMaker(t)
})
afterAll(async () => {
  await new Promise<void>((done) => smtp.close(done))
  await t.close()
})
beforeEach(async () => {
  mails.length = 0
  isMailDown = false
  ;[receiver, other] = await Promise.all([startReceiver(), startReceiver()])
  org = await t.make.org({ name: 'Acme <&> Co' })
})
afterEach(async () => {
  // Pending deliveries must not be sent in a later test.
  await t.app.database.pool.query('delete from alert_channels')
  await Promise.all([receiver.close(), other.close()])
})

const api = () => t.as(org.admin).alerts
const params = () => ({ code: org.code })
const add = async (type: 'webhook' | 'slack', url: string) =>
  await api().addChannel({ params: params(), body: { type, name: `${type} ${url.slice(-20)}`, url } })
const channelParams = (channel: { id: number }) => ({ ...params(), channelId: String(channel.id) })
const deliveries = () => api().listDeliveries({ params: params() })
const statuses = async () =>
  (await deliveries()).map(({ channel, what, status }) => `${channel.type} ${what} ${status}`)
const turnMailOff = async () => {
  const channel = (await api().listChannels({ params: params() })).find(({ type }) => type === 'email')
  if (channel) await api().changeChannel({ params: channelParams(channel), body: { name: 'Email', isEnabled: false } })
}

const network = { networkAccess: systemNetwork(true), timeoutMs: 2_000 }

/** Sends all deliveries that are due at the clock's time. */
const deliverAll = () => t.runJobs(channelJobs(t.app, network))

/** `alert-<id>-opened` or `-ended`: the id of the message without its time. */
const messageOf = (headers: IncomingHttpHeaders) => String(headers['webhook-id']).replace(/-\d+$/, '')
const messagesAt = ({ received }: Receiver) => received.map(({ headers }) => messageOf(headers))

/** Verifies a message with the code of docs/alerts.md, like a receiver. */
async function isSigned({ headers, body }: Receiver['received'][number], secret: string): Promise<boolean> {
  const documentation = readFileSync(new URL('../../../../../docs/alerts.md', import.meta.url), 'utf8')
  const lines = /```js\n(.*?)```/s.exec(documentation)?.[1] ?? ''
  const nowMs = Number(headers['webhook-timestamp']) * 1000 + 299_000
  const code = `${lines.replace('Date.now()', String(nowMs))}\nexport default isFromShoal`
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    default: (secret: string, headers: Record<string, string>, body: string) => boolean
  }
  return module.default(secret, headers, body) && !module.default(secret, headers, `${body} `)
}

test('the signature is that of Standard Webhooks', () => {
  const at = new Date(1_614_265_330_000)
  const headers = signatureHeaders(
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    at,
    '{"test": 2432232314}',
  )
  // The example from the specification of Standard Webhooks.
  expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  expect(headers['webhook-timestamp']).toBe('1614265330')
})

test('each channel receives an alert and its end once, with version, container and reason', async () => {
  const { signingSecret } = await add('webhook', receiver.url)
  await add('slack', other.url)
  const id = await alert.open(org)
  await deliverAll()
  const startedAt = t.clock.now().toISOString()
  t.clock.advance(minutes(12))
  await alert.end(org, id)
  await deliverAll()

  const areSigned = await Promise.all(receiver.received.map((message) => isSigned(message, signingSecret ?? '')))
  expect(areSigned).toEqual([true, true])
  const [opened, ended] = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  const helpUrl = 'http://localhost:4000/docs/troubleshooting#crash-loop'
  expect(opened).toEqual({
    version: 1,
    id: `alert-${id}-opened-${Date.parse(startedAt)}`,
    type: 'alert.opened',
    createdAt: startedAt,
    organization: { code: org.code, name: org.name },
    alertId: id,
    squid: { id: expect.any(Number) as number, name: 'lending', slot: 'v1' },
    container: 'eth',
    kind: 'CRASH_LOOP',
    severity: 'CRITICAL',
    label: 'eth keeps crashing',
    reason: 'It ended with an error 5 times. See its logs.',
    startedAt,
    endedAt: null,
    url: `http://localhost:4000/squids/lending/v1?organization=${org.code}`,
    helpUrl,
  })
  const endedAt = t.clock.now().toISOString()
  expect(ended).toMatchObject({ id: `alert-${id}-ended-${Date.parse(endedAt)}`, type: 'alert.ended', endedAt })
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([opened?.['id'], ended?.['id']])

  const url = `http://localhost:4000/squids/lending/v1?organization=${org.code}`
  expect(other.received.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    {
      text: [
        '🔴 *lending@v1: eth keeps crashing*',
        'It ended with an error 5 times. See its logs.',
        'Critical, since 2026-01-15 12:00 UTC.',
        url,
        `Causes and remedies: ${helpUrl}`,
      ].join('\n'),
    },
    {
      text: [
        '✅ *lending@v1 recovered: eth keeps crashing*',
        'It lasted from 2026-01-15 12:00 UTC to 2026-01-15 12:12 UTC.',
        url,
      ].join('\n'),
    },
  ])

  expect(mails.map((raw) => /^Subject: (.*)\r$/m.exec(raw)?.[1])).toEqual([
    'lending@v1: eth keeps crashing',
    'lending@v1 recovered: eth keeps crashing',
  ])
  expect(mails[0]).toContain(`To: ${org.admin.email}`)
  const messageIds = mails.map((raw) => /^Message-ID: <shoal-alert-\d+@localhost>\r$/m.exec(raw)?.[0])
  expect(new Set([...messageIds, undefined]).size).toBe(3)
  expect(mails[0]).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  // Emails are quoted-printable.
  const text = (mails[0] ?? '').replaceAll('=\r\n', '')
  expect(text).toContain(`Causes and remedies of this alert:\r\n${helpUrl}`)
  expect(text).toContain(`<a href=3D"${helpUrl}"`)
  const html = (mails[1] ?? '').replaceAll('=\r\n', '')
  for (const part of [
    'text/html',
    'text/plain',
    'To turn them off',
    '/monitoring/alerts?',
    '12:00 UTC to',
    'Acme &#60;',
  ])
    expect(html).toContain(part)

  expect((await statuses()).toSorted()).toEqual([
    'email ENDED DELIVERED',
    'email OPENED DELIVERED',
    'slack ENDED DELIVERED',
    'slack OPENED DELIVERED',
    'webhook ENDED DELIVERED',
    'webhook OPENED DELIVERED',
  ])
})

test('names that tenants chose are escaped for Slack', async () => {
  await add('slack', receiver.url)
  await alert.open(org, { label: '<!channel> & <http://evil.example|ok>', reason: '@everyone, @here', squidId: null })
  await deliverAll()
  const { text } = JSON.parse(receiver.received[0]?.body ?? '{}') as { text: string }
  expect(text).toContain(
    'Acme &lt;&amp;&gt; Co: &lt;!channel&gt; &amp; &lt;http://evil.example|ok&gt;*\n@\u200beveryone, @\u200bhere\n',
  )
  expect(text).toContain(`http://localhost:4000/monitoring/alerts?organization=${org.code}`)
})

describe('a failing receiver', () => {
  beforeEach(turnMailOff)

  test('is called at most eight times within a day, with the same id and a new timestamp each time', async () => {
    const { signingSecret } = await add('webhook', receiver.url)
    receiver.onRequest((response) => response.writeHead(500).end())
    const startMs = t.clock.now().getTime()
    const id = await alert.open(org)
    const attemptsMs: number[] = []
    for (let steps = 0; steps < 20; steps++) {
      const before = receiver.received.length
      await deliverAll()
      if (receiver.received.length > before) attemptsMs.push(t.clock.now().getTime() - startMs)
      const [delivery] = await deliveries()
      if (!delivery?.nextTryAt) break
      expect(delivery).toMatchObject({ status: 'PENDING', httpStatus: 500, error: 'The receiver returned 500.' })
      // One millisecond before the retry is due, nothing is sent.
      t.clock.advance(Date.parse(delivery.nextTryAt) - t.clock.now().getTime() - 1)
      const count = receiver.received.length
      await deliverAll()
      expect(receiver.received).toHaveLength(count)
      t.clock.advance(1)
    }
    expect(attemptsMs).toEqual([
      0,
      ...retryDelaysMs.map((_, index) => retryDelaysMs.slice(0, index + 1).reduce((a, b) => a + b)),
    ])
    for (const message of receiver.received) expect(await isSigned(message, signingSecret ?? '')).toBe(true)
    expect(new Set(messagesAt(receiver))).toEqual(new Set([`alert-${id}-opened`]))
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(8)
    expect(await deliveries()).toMatchObject([{ status: 'FAILED', tries: 8, error: 'The receiver returned 500.' }])
    // The end of the alert is not sent, because its opening was not delivered.
    await alert.end(org, id)
    await deliverAll()
    expect(await deliveries()).toHaveLength(1)
  })

  test('delays neither other receivers nor its own other alerts, and receives the end of an alert after its opening', async () => {
    await add('webhook', receiver.url)
    await add('webhook', other.url)
    let isDown = true
    receiver.onRequest((response, request) => {
      const isRejected = isDown && messageOf(request.headers) === `alert-${first}-opened`
      response.writeHead(isRejected ? 400 : 200).end()
    })
    const first = await alert.open(org)
    await deliverAll()
    await alert.end(org, first)
    const second = await alert.open(org)
    await alert.end(org, second)
    await deliverAll()
    expect(messagesAt(other)).toEqual([
      `alert-${first}-opened`,
      `alert-${first}-ended`,
      `alert-${second}-opened`,
      `alert-${second}-ended`,
    ])
    expect(messagesAt(receiver)).toEqual([`alert-${first}-opened`, `alert-${second}-opened`, `alert-${second}-ended`])
    isDown = false
    t.clock.advance(10_000)
    await deliverAll()
    expect(messagesAt(receiver).slice(3)).toEqual([`alert-${first}-opened`, `alert-${first}-ended`])
  })

  test('is called again after the delay it requests, and never after a 410', async () => {
    await add('webhook', receiver.url)
    receiver.onRequest((response) => response.writeHead(429, { 'retry-after': '300' }).end())
    const id = await alert.open(org)
    await alert.end(org, id)
    await deliverAll()
    expect((await deliveries())[1]?.nextTryAt).toBe(new Date(t.clock.now().getTime() + minutes(5)).toISOString())
    receiver.onRequest((response) => response.writeHead(410).end())
    t.clock.advance(minutes(5))
    await deliverAll()
    expect(await deliveries()).toMatchObject([
      { what: 'ENDED', status: 'FAILED', tries: 0, error: 'The alert itself could not be delivered.', nextTryAt: null },
      { what: 'OPENED', status: 'FAILED', tries: 2, httpStatus: 410 },
    ])
  })

  test('is notified when an alert becomes critical, and of its end if it accepted either message', async () => {
    await add('webhook', receiver.url)
    receiver.onRequest((response) => response.writeHead(500).end())
    const id = await alert.open(org, { severity: 'WARNING' })
    await deliverAll()
    t.clock.advance(1_000)
    await alert.worsen(org, id)
    await alert.end(org, id)
    // The receiver returns 410 for the first message, which ends its attempts.
    receiver.onRequest((response, request) =>
      response.writeHead(request.headers['webhook-id'] === first ? 410 : 200).end(),
    )
    const first = receiver.received[0]?.headers['webhook-id']
    t.clock.advance(minutes(1))
    await deliverAll()
    const messages = receiver.received.map(({ body }) => JSON.parse(body) as { type: string; severity: string })
    expect(messages.slice(1).map(({ type, severity }) => `${type} ${severity}`)).toEqual([
      'alert.opened WARNING',
      'alert.opened CRITICAL',
      'alert.ended CRITICAL',
    ])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(3)
    expect((await statuses()).toSorted()).toEqual([
      'webhook ENDED DELIVERED',
      'webhook OPENED DELIVERED',
      'webhook OPENED FAILED',
    ])
  })
})

test('in a storm, email and Slack channels receive one message a minute, webhooks one per alert', async () => {
  await add('webhook', receiver.url)
  await add('slack', other.url)
  for (let n = 0; n < 30; n++) await alert.open(org, { squidName: `squid-${n}` })
  await deliverAll()
  expect([receiver.received.length, other.received.length, mails.length]).toEqual([30, 0, 0])
  t.clock.advance(30_000)
  const late = await alert.open(org, { squidName: 'late' })
  await alert.end(org, late)
  await deliverAll()
  expect([other.received.length, mails.length]).toEqual([0, 0])
  t.clock.advance(30_000)
  await deliverAll()
  expect([receiver.received.length, other.received.length, mails.length]).toEqual([32, 1, 1])
  const { text } = JSON.parse(other.received[0]?.body ?? '{}') as { text: string }
  expect(text).toContain('*Acme &lt;&amp;&gt; Co: 31 alerts, 1 recovered*\n🔴 squid-0@v1: eth keeps crashing\n')
  expect(text).toContain('… and 17 more\n')
  const mail = (mails[0] ?? '').replaceAll('=\r\n', '')
  for (const part of ['31 alerts, 1 recovered', 'squid-29@v1: eth keeps crashing', 'late@v1 recovered'])
    expect(mail).toContain(part)
  expect((await deliveries()).every(({ status }) => status === 'DELIVERED')).toBe(true)
  // The storm is over.
  t.clock.advance(minutes(2))
  await alert.open(org)
  await deliverAll()
  expect([other.received.length, mails.length]).toEqual([2, 2])
})

describe('the end of an alert', () => {
  test('is sent to channels that received the opening; only to webhooks if a user stopped the version', async () => {
    await add('webhook', receiver.url)
    const [recovered, stopped] = [await alert.open(org), await alert.open(org)]
    await deliverAll()
    await add('slack', other.url)
    await turnMailOff()
    await alert.end(org, recovered)
    await alert.end(org, stopped, { isQuiet: true })
    await deliverAll()
    expect(receiver.received).toHaveLength(4)
    expect([other.received.length, mails.length]).toEqual([0, 2])
    const quiet = await t.make.org()
    await alert.end(quiet, await alert.open(quiet), { isQuiet: true })
    await deliverAll()
    expect(mails).toHaveLength(3)
  })

  test('is not sent to a disabled channel, nor are pending deliveries', async () => {
    const { channel } = await add('webhook', receiver.url)
    await alert.open(org)
    await api().changeChannel({ params: channelParams(channel), body: { name: channel.name, isEnabled: false } })
    await alert.open(org)
    await deliverAll()
    expect(receiver.received).toEqual([])
    expect((await deliveries()).filter(({ channel: { type } }) => type === 'webhook')).toMatchObject([
      { status: 'FAILED', error: 'The channel was turned off.' },
    ])
  })
})

describe('email', () => {
  test('about a playground is sent to its owner; without a confirmed address the delivery fails with that reason', async () => {
    const owner = await t.make.user()
    const playground = await t.app.database.pool.query<{ id: number }>('select id from orgs where code = $1', [
      owner.playground.code,
    ])
    const id = playground.rows[0]?.id ?? 0
    await alert.open({ id })
    await t.app.database.pool.query('update orgs set email = null where id = $1', [org.id])
    await alert.open(org)
    await deliverAll()
    expect(mails).toHaveLength(1)
    expect(mails[0]).toContain(`To: ${owner.email}`)
    expect(await deliveries()).toMatchObject([
      { status: 'FAILED', error: 'The organization has no confirmed email address.' },
    ])
  })

  test('is retried while the mail server fails, and the error contains no details of the server', async () => {
    isMailDown = true
    await alert.open(org)
    await deliverAll()
    expect(await deliveries()).toMatchObject([
      { status: 'PENDING', tries: 1, httpStatus: null, error: 'The mail server did not accept the email.' },
    ])
    isMailDown = false
    t.clock.advance(10_000)
    await deliverAll()
    expect(mails).toHaveLength(1)
    // A replay has a new Message-ID, because mail programs show emails with the same id only once.
    await api().replayDelivery({ params: { ...params(), deliveryId: String((await deliveries())[0]?.id) } })
    const [first, again] = mails.map((raw) => /^Message-ID: (.*)\r$/m.exec(raw)?.[1])
    expect(again).not.toBe(first)
    expect(await deliveries()).toMatchObject([
      { status: 'DELIVERED', tries: 1 },
      { status: 'DELIVERED', tries: 2, error: null },
    ])
  })
})

test('a delivery that keeps failing because of an internal error is marked as failed', async () => {
  await turnMailOff()
  await add('webhook', receiver.url)
  await t.app.database.pool.query("update alert_channels set sealed_url = 'broken' where type = 'webhook'")
  await alert.open(org)
  for (let n = 0; n < 8; n++) {
    await deliverAll()
    t.clock.advance(days(1))
  }
  expect(await deliveries()).toMatchObject([{ status: 'FAILED', tries: 8, error: 'Something failed on our side.' }])
})

test('deliveries are deleted after 30 days, but not while their alert is open', async () => {
  const summaries = async () =>
    (await listDeliveries(t.app.db, org.id, { limit: 10 })).map(({ delivery }) => `${delivery.what} ${delivery.status}`)
  const [open, ended] = [await alert.open(org), await alert.open(org)]
  await alert.end(org, ended)
  await deliverAll()
  const [, deleteOldJob] = channelJobs(t.app)
  t.clock.advance(days(30))
  await runJob(deleteOldJob)
  expect(await summaries()).toHaveLength(3)
  t.clock.advance(1)
  await runJob(deleteOldJob)
  expect(await summaries()).toEqual(['OPENED DELIVERED'])
  await alert.end(org, open)
  await deliverAll()
  expect(await summaries()).toEqual(['ENDED DELIVERED', 'OPENED DELIVERED'])
})
