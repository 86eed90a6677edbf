import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postJson } from './post.ts'
import { isPrivateUrl, isPublicAddress, systemNetwork, type NetworkAccess } from './network-access.ts'
import { startReceiver, type Receiver } from './testing/receiver.ts'

let receiver: Receiver
let elsewhere: Receiver
beforeAll(async () => void ([receiver, elsewhere] = await Promise.all([startReceiver(), startReceiver()])))
afterAll(() => Promise.all([receiver.close(), elsewhere.close()]))
beforeEach(() => {
  receiver.received.length = 0
  receiver.answer((response) => response.writeHead(200).end('ok'))
})

const now = new Date('2026-01-15T12:00:00Z')
const post = (url: string, reach: NetworkAccess, timeoutMs = 5_000) =>
  postJson(url, {}, '{}', { reach, timeoutMs, signal: new AbortController().signal, now })
const open = systemNetwork(true)

/** Resolves every name to these addresses. */
const resolvingTo = (...addresses: string[]): NetworkAccess => ({
  allowsPrivate: false,
  lookup: (_host, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    ),
})

describe('public addresses', () => {
  test.each([
    ['127.0.0.1', '127.8.9.10', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1'],
    ['169.254.169.254', '169.254.1.1', '192.0.0.192', '192.0.2.1', '198.18.0.1', '203.0.113.9', '224.0.0.1'],
    ['240.0.0.1', '255.255.255.255', '::', '::1', '::7f00:1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd00:ec2::254'],
    ['fec0::1', 'ff02::1', '2001:db8::1', '2002:7f00:1::', '64:ff9b::a00:1', '4000::1', 'not an address', ''],
    ['::ffff:10.0.0.1', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:0:127.0.0.1', '2001::1', '3fff::1'],
  ])('do not include %s, %s …', (...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([])
  })

  test('include those that the internet routes', () => {
    const outside = ['1.1.1.1', '93.184.215.14', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '::ffff:1.1.1.1']
    expect(outside.filter((address) => !isPublicAddress(address))).toEqual([])
  })

  test.each([
    ['http://127.0.0.1/', true],
    ['http://2130706433/', true],
    ['http://0x7f.1/', true],
    ['http://[::1]/', true],
    ['http://[::ffff:10.0.0.1]/', true],
    ['http://localhost:80/', true],
    ['http://a.localhost./', true],
    ['http://1.1.1.1/', false],
    ['https://hooks.example.com/', false],
  ])('the URL %s is private: %s', (url, isPrivate) => {
    expect(isPrivateUrl(new URL(url))).toBe(isPrivate)
  })
})

describe('without permission for private networks', () => {
  const refusal = {
    isAccepted: false,
    isFinal: true,
    httpStatus: null,
    error: 'The address leads into a private network. Only public addresses are reached.',
  }

  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0'])(
    'http://%s is not connected to',
    async (host) => {
      expect(await post(`http://${host}:${receiver.port}/`, systemNetwork(false))).toMatchObject(refusal)
      expect(receiver.received).toEqual([])
    },
  )

  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['::ffff:10.0.0.1']],
    [['169.254.169.254']],
    [['1.1.1.1', '127.0.0.1']],
    [['fd00:ec2::254']],
  ])('a name that resolves to %s is not connected to', async (addresses) => {
    expect(await post(`http://harmless.example:${receiver.port}/`, resolvingTo(...addresses))).toMatchObject(refusal)
    expect(await post(`https://harmless.example:${receiver.port}/`, resolvingTo(...addresses))).toMatchObject(refusal)
    expect(receiver.received).toEqual([])
  })

  test('a name is resolved once, and the connection uses the checked address', async () => {
    let lookups = 0
    const rebinding: NetworkAccess = {
      allowsPrivate: true,
      lookup: (_host, done) => done(null, [{ address: ++lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]),
    }
    expect(await post(`http://rebinding.example:${receiver.port}/`, rebinding)).toEqual({
      isAccepted: true,
      httpStatus: 200,
    })
    expect(lookups).toBe(1)
    expect(receiver.received[0]?.headers['host']).toBe(`rebinding.example:${receiver.port}`)
  })
})

describe('a receiver', () => {
  test.each([200, 204, 299])('that returns %i has accepted the message', async (status) => {
    receiver.answer((response) => response.writeHead(status).end())
    expect(await post(receiver.url, open)).toEqual({ isAccepted: true, httpStatus: status })
  })

  test('that returns 500, 404 or 410 gives an error with the status; only 410 is final', async () => {
    for (const [status, isFinal] of [
      [500, false],
      [404, false],
      [410, true],
    ] as const) {
      receiver.answer((response) => response.writeHead(status).end('the secret of the receiver'))
      const outcome = await post(receiver.url, open)
      expect(outcome).toMatchObject({ isAccepted: false, httpStatus: status, isFinal })
      expect(JSON.stringify(outcome)).not.toMatch(/secret|127\.0\.0\.1/)
    }
  })

  test('that redirects is not followed', async () => {
    receiver.answer((response) => response.writeHead(307, { location: elsewhere.url }).end())
    expect(await post(receiver.url, open)).toMatchObject({
      isAccepted: false,
      httpStatus: 307,
      error: 'It answered 307, a redirect. Redirects are not followed.',
    })
    expect(elsewhere.received).toEqual([])
  })

  test('that returns Retry-After sets the delay, in seconds or as a date', async () => {
    for (const header of ['120', 'Thu, 15 Jan 2026 12:02:00 GMT']) {
      receiver.answer((response) => response.writeHead(429, { 'retry-after': header }).end())
      expect(await post(receiver.url, open)).toMatchObject({ httpStatus: 429, retryAfterMs: 120_000 })
    }
  })

  test('that never responds times out', async () => {
    receiver.answer(() => undefined)
    expect(await post(receiver.url, open, 100)).toMatchObject({ httpStatus: null, error: 'No answer within 0.1 s.' })
  })

  test('that closes the connection or does not listen gives a clear error', async () => {
    receiver.answer((response) => response.destroy())
    expect(await post(receiver.url, open)).toMatchObject({ error: 'The connection broke.', isFinal: false })
    const closed = await startReceiver()
    await closed.close()
    expect(await post(closed.url, open)).toMatchObject({ error: 'The connection was refused.', isFinal: false })
  })

  test('whose response never ends is judged by its status', async () => {
    let isHungUp = false
    receiver.answer((response) => {
      response.on('close', () => (isHungUp = true))
      const pour = () => void (isHungUp || response.write('x'.repeat(65_536), () => setImmediate(pour)))
      pour()
    })
    expect(await post(receiver.url, open)).toEqual({ isAccepted: true, httpStatus: 200 })
    receiver.answer((response) => response.write('slow'))
    expect(await post(receiver.url, open, 200)).toEqual({ isAccepted: true, httpStatus: 200 })
  })

  test('with an untrusted certificate, or none, gives an error without details', async () => {
    expect(await post(receiver.url.replace('http:', 'https:'), open)).toMatchObject({
      error: 'No secure connection: its certificate is not valid.',
    })
  })
})
