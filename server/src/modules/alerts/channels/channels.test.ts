import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { days } from '../../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { deleteSquid } from '../../versions/index.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'
import { alertMaker } from './testing/alert-maker.ts'
import { startReceiver, type Receiver } from './testing/receiver.ts'
import { signatureHeaders } from './webhook.ts'

let t: TestApp
let org: TestOrg
let receiver: Receiver
beforeAll(async () => void (t = await startTestApp({ env: { SHOAL_ALERTS_ALLOW_PRIVATE: 'true' } })))
afterAll(() => t.close())
beforeEach(async () => {
  receiver = await startReceiver()
  org = await t.make.org()
})
afterEach(() => receiver.close())

const api = () => t.as(org.admin).alerts
const params = () => ({ code: org.code })
const list = () => api().listChannels({ params: params() })
const channelParams = ({ id }: { id: number }) => ({ ...params(), channelId: String(id) })
const deliveryParams = ({ id }: { id: number }) => ({ ...params(), deliveryId: String(id) })
const add = (type: 'webhook' | 'slack', url: string, name = type as string) =>
  api().addChannel({ params: params(), body: { type, name, url } })
const rowsAsText = async (table: string) =>
  JSON.stringify((await t.app.database.pool.query(`select x::text from ${table} x where org_id = $1`, [org.id])).rows)

test.each([
  'file:///etc/passwd',
  'gopher://example.com/',
  'javascript:alert(1)',
  'ftp://example.com/',
  'data:text/plain,a',
])('a channel cannot send to %s', async (url) => {
  for (const type of ['webhook', 'slack'] as const)
    await expect(add(type, url)).rejects.toMatchObject({ status: 400, message: 'Must be a valid URL' })
})

test('every organization has an email channel to its confirmed address, which cannot be removed', async () => {
  const [email, ...others] = await list()
  expect(others).toEqual([])
  expect(email).toMatchObject({ type: 'email', target: org.admin.email, isEnabled: true, lastDelivery: null })
  const channel = email ?? { id: 0 }
  await expect(api().removeChannel({ params: channelParams(channel) })).rejects.toMatchObject({
    status: 405,
    message: 'The email channel cannot be removed. Turn it off instead.',
  })
  await api().changeChannel({ params: channelParams(channel), body: { name: 'Mail', isEnabled: false } })
  expect(await list()).toMatchObject([{ name: 'Mail', isEnabled: false }])
  const url = 'https://hooks.example.com/in'
  await expect(
    api().changeChannel({ params: channelParams(channel), body: { name: 'Mail', isEnabled: true, url } }),
  ).rejects.toMatchObject({
    status: 400,
    message: "The email channel always uses the organization's confirmed address",
  })
  expect(await list()).toMatchObject([{ name: 'Mail', isEnabled: false, target: org.admin.email }])
  const owner = await t.make.user()
  const unconfirmed = await t.make.user({ emailVerified: false })
  const own = { params: { code: owner.playground.code } }
  expect(await t.as(owner).alerts.listChannels(own)).toMatchObject([{ type: 'email', target: owner.email }])
  // A playground cannot be renamed or deleted, but its alerts are sent like any others.
  const body = { type: 'webhook', name: 'Mine', url } as const
  expect((await t.as(owner).alerts.addChannel({ ...own, body })).channel).toMatchObject({ name: 'Mine' })
  // A user without a confirmed address has no access to organizations yet.
  await expect(
    t.as(unconfirmed).alerts.listChannels({ params: { code: unconfirmed.playground.code } }),
  ).rejects.toMatchObject({
    status: 405,
  })
})

test('secrets are shown once or never, and appear neither in the database nor in the audit log', async () => {
  const webhook = await add('webhook', 'https://hooks.example.com/in?token=t0ken-of-hook')
  const slack = await add('slack', 'https://hooks.slack.com/services/T000/B000/s3cretOfSlack')
  const discord = await add('slack', 'https://discord.com/api/webhooks/123/s3cretOfDiscord/slack')
  expect(webhook.signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect([slack.signingSecret, discord.signingSecret]).toEqual([null, null])
  expect((await list()).map(({ target }) => target)).toEqual([
    org.admin.email,
    'https://hooks.example.com/in?token=t0ken-of-hook',
    'https://hooks.slack.com/***',
    'https://discord.com/***',
  ])
  await api().removeChannel({ params: channelParams(slack.channel) })
  const audit = await rowsAsText('audit_log')
  expect(audit).toContain('hooks.slack.com')
  expect(audit).toContain('alerts.removeChannel')
  for (const text of [audit, await rowsAsText('alert_channels'), JSON.stringify(await list())])
    for (const secret of [webhook.signingSecret ?? '', 's3cretOfSlack', 's3cretOfDiscord'])
      expect(text).not.toContain(secret)
  expect(audit).not.toContain('t0ken-of-hook')
  expect(await list()).toHaveLength(3)
})

test('only members who may change channels see the full URL of a webhook', async () => {
  const url = 'https://hooks.example.com/in?token=t0ken-of-hook'
  await add('webhook', url)
  const targets = async (caller: Parameters<typeof t.as>[0]) =>
    (await t.as(caller).alerts.listChannels({ params: params() })).map(({ target }) => target)
  expect(await targets(org.admin)).toContain(url)
  for (const caller of [await t.make.member(org, 'viewer'), await t.make.token(org.admin, { scope: 'read' })])
    expect(await targets(caller)).toEqual([org.admin.email, 'https://hooks.example.com/***'])
})

test('changing a channel keeps the URL and secret that the request omits', async () => {
  const elsewhere = await startReceiver()
  try {
    const { channel, signingSecret } = await add('webhook', `${receiver.url}?token=t0ken-of-hook`)
    const slack = await add('slack', `${receiver.url}/s3cretOfSlack`)
    const change = (target: { id: number }, body: { name: string; url?: string }) =>
      api().changeChannel({ params: channelParams(target), body: { isEnabled: true, ...body } })
    await change(slack.channel, { name: 'Ops room' })
    await api().testChannel({ params: channelParams(slack.channel) })
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/s3cretOfSlack'])

    const url = `${elsewhere.url}?token=n3w-token`
    expect(await change(channel, { name: 'On-call', url })).toMatchObject({ name: 'On-call', target: url })
    await change(slack.channel, { name: 'Ops room', url: `${elsewhere.url}/n3wSecret` })
    expect((await list()).slice(1).map(({ name, target }) => [name, target])).toEqual([
      ['On-call', url],
      ['Ops room', `${new URL(elsewhere.url).origin}/***`],
    ])
    for (const target of [channel, slack.channel])
      expect(await api().testChannel({ params: channelParams(target) })).toMatchObject({ status: 'DELIVERED' })
    expect(receiver.received).toHaveLength(1)
    const [signed, plain] = elsewhere.received
    expect(plain?.path).toBe('/hook/n3wSecret')
    const id = signed?.headers['webhook-id'] ?? ''
    expect(signed?.headers).toMatchObject(signatureHeaders(signingSecret ?? '', id, t.clock.now(), signed?.body ?? ''))

    await expect(change(channel, { name: 'x', url: 'https://user:password@example.com/' })).rejects.toMatchObject({
      status: 400,
    })
    const audit = await rowsAsText('audit_log')
    expect(audit).toContain(new URL(elsewhere.url).host)
    for (const text of [audit, await rowsAsText('alert_channels')])
      for (const secret of ['t0ken-of-hook', 'n3w-token', 's3cretOfSlack', 'n3wSecret', signingSecret ?? ''])
        expect(text).not.toContain(secret)
  } finally {
    await elsewhere.close()
  }
})

test('an organization has at most twenty channels, even when they are added concurrently', async () => {
  await list()
  const addHook = (n: number) => add('webhook', receiver.url, `hook ${n}`)
  for (let n = 1; n <= 16; n++) await addHook(n)
  // As many as the server has database connections: a request that waits several seconds for one fails with status 503.
  const results = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => addHook(17 + n)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect(results.find((result) => result.status === 'rejected')?.reason).toMatchObject({ status: 405 })
  expect(await list()).toHaveLength(20)
})

test('the test button sends immediately, without retries, and returns the result', async () => {
  const { channel } = await add('webhook', receiver.url)
  const first = await api().testChannel({ params: channelParams(channel) })
  expect(first).toMatchObject({ what: 'TEST', status: 'DELIVERED', tries: 1, httpStatus: 204, error: null })
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
    version: 1,
    type: 'alert.test',
    organization: { code: org.code },
    alertId: null,
    kind: null,
    url: `http://localhost:4000/monitoring/alerts?organization=${org.code}`,
  })
  receiver.onRequest((response) => response.writeHead(503).end())
  const second = await api().testChannel({ params: channelParams(channel) })
  expect(second).toMatchObject({ status: 'FAILED', tries: 1, httpStatus: 503, nextTryAt: null })
  expect(second.error).toBe('The receiver returned 503.')
  const [email] = await list()
  expect(await api().testChannel({ params: channelParams(email ?? channel) })).toMatchObject({ status: 'DELIVERED' })
  expect((await t.mails())[0]).toMatchObject({ to: org.admin.email, subject: `${org.name}: test of alerts` })
  expect((await list()).map(({ lastDelivery }) => lastDelivery?.status)).toEqual(['DELIVERED', 'FAILED'])
})

test('a replay sends the same message again; deliveries are paged, newest first', async () => {
  const alert = alertMaker(t)
  const { channel } = await add('webhook', receiver.url)
  receiver.onRequest((response) => response.writeHead(500).end())
  await alert.open(org)
  const opened = (await api().listDeliveries({ params: params() })).find(
    (delivery) => delivery.channel.id === channel.id,
  )
  t.clock.advance(days(1))
  const again = await api().replayDelivery({ params: deliveryParams(opened ?? { id: 0 }) })
  expect(again).toMatchObject({ what: 'OPENED', label: 'eth keeps crashing', status: 'PENDING', httpStatus: 500 })
  expect(again.nextTryAt).toBe(new Date(t.clock.now().getTime() + 10_000).toISOString())
  receiver.onRequest((response) => response.writeHead(200).end())
  const third = await api().replayDelivery({ params: deliveryParams(again) })
  expect(third).toMatchObject({ what: 'OPENED', status: 'DELIVERED', httpStatus: 200 })
  expect(third.id).toBeGreaterThan(again.id)
  const [first, second] = receiver.received
  expect(second?.body).toBe(first?.body)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])

  for (let n = 0; n < 60; n++) await alert.open(org)
  const newest = await api().listDeliveries({ params: params() })
  const older = await api().listDeliveries({ params: params(), query: { before: String(newest.at(-1)?.id) } })
  const oldest = await api().listDeliveries({ params: params(), query: { before: String(older.at(-1)?.id) } })
  const ids = [...newest, ...older, ...oldest].map(({ id }) => id)
  expect([newest.length, older.length, oldest.length]).toEqual([50, 50, 24])
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => b - a))
})

test('a delivery shows its version, even if the version has been deleted since', async () => {
  const alert = alertMaker(t)
  const { channel } = await add('webhook', receiver.url)
  const [existing, deleted] = [
    await makeVersion(t.app, org, { name: 'existing' }),
    await makeVersion(t.app, org, { name: 'deleted' }),
  ]
  for (const { id, name, slot } of [existing, deleted])
    await alert.open(org, { squidId: id, squidName: name, squidSlot: slot })
  await alert.open(org, { kind: 'PAYMENT', squidId: null, squidName: null, squidSlot: null, container: null })
  await api().testChannel({ params: channelParams(channel) })
  await deleteSquid(t.app.db, deleted.id)
  const sent = (await api().listDeliveries({ params: params() })).filter(
    (delivery) => delivery.channel.id === channel.id,
  )
  const crash = { kind: 'CRASH_LOOP', container: 'eth' }
  const squidOf = ({ id, name, slot }: typeof existing, isDeleted: boolean) => ({ id, name, slot, isDeleted })
  expect(sent.map(({ alert: about }) => about)).toEqual([
    null,
    { kind: 'PAYMENT', container: null, squid: null },
    { ...crash, squid: squidOf(deleted, true) },
    { ...crash, squid: squidOf(existing, false) },
  ])
  const replayed = await api().replayDelivery({ params: deliveryParams(sent[2] ?? { id: 0 }) })
  expect(replayed.alert?.squid).toEqual(squidOf(deleted, true))
  const message = JSON.parse(receiver.received.at(-1)?.body ?? '') as { squid: object }
  expect(message.squid).toEqual({ id: deleted.id, name: 'deleted', slot: 'v1' })
  expect((await api().list({ params: params() })).map(({ squid }) => squid?.isDeleted)).toEqual([
    undefined,
    true,
    false,
  ])
})

test('channels and deliveries of another organization are not found', async () => {
  const { channel } = await add('webhook', receiver.url)
  const delivery = await api().testChannel({ params: channelParams(channel) })
  const stranger = await t.make.org()
  const theirs = t.as(stranger.admin).alerts
  const foreignChannel = { code: stranger.code, channelId: String(channel.id) }
  const calls = [
    theirs.changeChannel({ params: foreignChannel, body: { name: 'x', isEnabled: false } }),
    theirs.removeChannel({ params: foreignChannel }),
    theirs.testChannel({ params: foreignChannel }),
    theirs.replayDelivery({ params: { code: stranger.code, deliveryId: String(delivery.id) } }),
    theirs.testChannel({ params: { ...foreignChannel, channelId: 'x' } }),
  ]
  const outcomes = await Promise.allSettled(calls)
  expect(outcomes).toMatchObject(calls.map(() => ({ status: 'rejected', reason: { status: 404 } })))
  expect(receiver.received).toHaveLength(1)
})

test('private addresses, in any notation, are not called unless the operator allows them', async () => {
  const restricted = await startTestApp()
  try {
    const { admin, code } = await restricted.make.org()
    const { alerts } = restricted.as(admin)
    const post = (url: string) => alerts.addChannel({ params: { code }, body: { type: 'webhook', name: 'In', url } })
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:10.0.0.1]', '169.254.169.254', '2130706433'])
      await expect(post(`http://${host}:${receiver.port}/`)).rejects.toMatchObject({
        status: 400,
        message: 'Must be an address on the public internet',
      })
    await expect(post('https://user:password@example.com/')).rejects.toMatchObject({ status: 400 })
    // The URL of a channel cannot be changed to a private address either.
    const { channel: open } = await post('https://public.example/')
    const openParams = { code, channelId: String(open.id) }
    const inside = { name: 'In', isEnabled: true, url: `http://10.0.0.1:${receiver.port}/` }
    await expect(alerts.changeChannel({ params: openParams, body: inside })).rejects.toMatchObject({ status: 400 })
    // A private address stored earlier, while it was allowed, is rejected when the channel is called.
    const { channel } = await post('https://public.example/')
    const url = restricted.app.sealer.seal(receiver.url, `alert channel ${channel.id} url`)
    await restricted.app.database.pool.query('update alert_channels set sealed_url = $1 where id = $2', [
      url,
      channel.id,
    ])
    expect(await alerts.testChannel({ params: { code, channelId: String(channel.id) } })).toMatchObject({
      status: 'FAILED',
      httpStatus: null,
      error: 'The address is in a private network. Only public addresses are allowed.',
    })
    expect(receiver.received).toEqual([])
  } finally {
    await restricted.close()
  }
})
