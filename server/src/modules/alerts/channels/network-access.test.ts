import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { postJson } from './post.ts'
import { isPrivateUrl, isPublicAddress, systemNetwork, type NetworkAccess } from './network-access.ts'
import { startReceiver, type Receiver } from './testing/receiver.ts'

let receiver: Receiver
let elsewhere: Receiver
beforeAll(async () => void ([receiver, elsewhere] = await Promise.all([startReceiver(), startReceiver()])))
afterAll(() => Promise.all([receiver.close(), elsewhere.close()]))
beforeEach(() => {
  receiver.received.length = 0
  receiver.onRequest((response) => response.writeHead(200).end('ok'))
})

const now = new Date('2026-01-15T12:00:00Z')
const post = (url: string, networkAccess: NetworkAccess, timeoutMs = 5_000) =>
  postJson(url, {}, '{}', { networkAccess, timeoutMs, signal: new AbortController().signal, now })
const unrestricted = systemNetwork(true)

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

  test('include addresses that are routed on the internet', () => {
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

describe('when private networks are not allowed', () => {
  const privateAddressFailure = {
    isAccepted: false,
    isFinal: true,
    httpStatus: null,
    error: 'The address is in a private network. Only public addresses are allowed.',
  }

  test.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0'])(
    'http://%s is not called',
    async (host) => {
      expect(await post(`http://${host}:${receiver.port}/`, systemNetwork(false))).toMatchObject(privateAddressFailure)
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
  ])('a name that resolves to %s is not called', async (addresses) => {
    expect(await post(`http://harmless.example:${receiver.port}/`, resolvingTo(...addresses))).toMatchObject(
      privateAddressFailure,
    )
    expect(await post(`https://harmless.example:${receiver.port}/`, resolvingTo(...addresses))).toMatchObject(
      privateAddressFailure,
    )
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

/** Starts a DNS server that responds with the address 127.0.0.1 to queries for IPv4 addresses, or not at all. Returns its address. */
async function startDns({ isSilent = false } = {}): Promise<string> {
  const server = createSocket('udp4')
  server.on('message', (query, sender) => {
    if (isSilent) return
    const question = query.subarray(12, query.indexOf(0, 12) + 5)
    const isIpv4 = question.readUInt16BE(question.length - 4) === 1
    const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isIpv4 ? 1 : 0, 0, 0, 0, 0])
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
    server.send(Buffer.concat([head, question, ...(isIpv4 ? [record] : [])]), sender.port, sender.address)
  })
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${server.address().port}`
}

describe('DNS', () => {
  test('resolves names when only public addresses are allowed', async () => {
    const network = systemNetwork(false, [await startDns()])
    expect(await post(`http://hooks.example.com:${receiver.port}/`, network)).toMatchObject({
      error: 'The address is in a private network. Only public addresses are allowed.',
    })
  })

  test('that does not respond delays no other lookup of the process', async () => {
    const network = systemNetwork(false, [await startDns({ isSilent: true })])
    const posts = Array.from({ length: 16 }, (_, n) => post(`http://hook-${n}.example.com/`, network, 60_000))
    expect(await Promise.race([lookup('localhost').then(() => 'localhost'), ...posts])).toBe('localhost')
    for (const result of await Promise.all(posts))
      expect(result).toMatchObject({ isAccepted: false, error: 'The host name could not be resolved.' })
  })
})

describe('a receiver', () => {
  test.each([200, 204, 299])('that returns %i accepts the message', async (status) => {
    receiver.onRequest((response) => response.writeHead(status).end())
    expect(await post(receiver.url, unrestricted)).toEqual({ isAccepted: true, httpStatus: status })
  })

  test('that returns 500, 404 or 410 causes an error with the status; only 410 is final', async () => {
    for (const [status, isFinal] of [
      [500, false],
      [404, false],
      [410, true],
    ] as const) {
      receiver.onRequest((response) => response.writeHead(status).end('the secret of the receiver'))
      const outcome = await post(receiver.url, unrestricted)
      expect(outcome).toMatchObject({ isAccepted: false, httpStatus: status, isFinal })
      expect(JSON.stringify(outcome)).not.toMatch(/secret|127\.0\.0\.1/)
    }
  })

  test('that redirects is not followed', async () => {
    receiver.onRequest((response) => response.writeHead(307, { location: elsewhere.url }).end())
    expect(await post(receiver.url, unrestricted)).toMatchObject({
      isAccepted: false,
      httpStatus: 307,
      error: 'The receiver returned 307, a redirect. Redirects are not followed.',
    })
    expect(elsewhere.received).toEqual([])
  })

  test('that returns Retry-After sets the delay, in seconds or as a date', async () => {
    for (const header of ['120', 'Thu, 15 Jan 2026 12:02:00 GMT']) {
      receiver.onRequest((response) => response.writeHead(429, { 'retry-after': header }).end())
      expect(await post(receiver.url, unrestricted)).toMatchObject({ httpStatus: 429, retryAfterMs: 120_000 })
    }
  })

  test('that never responds times out', async () => {
    receiver.onRequest(() => undefined)
    expect(await post(receiver.url, unrestricted, 100)).toMatchObject({
      httpStatus: null,
      error: 'The receiver did not respond within 0.1 s.',
    })
  })

  test('that closes the connection or does not listen causes a clear error', async () => {
    receiver.onRequest((response) => response.destroy())
    expect(await post(receiver.url, unrestricted)).toMatchObject({
      error: 'The connection was closed.',
      isFinal: false,
    })
    const closed = await startReceiver()
    await closed.close()
    expect(await post(closed.url, unrestricted)).toMatchObject({ error: 'The connection was refused.', isFinal: false })
  })

  test('that never ends its response accepts the message if the status is 200', async () => {
    let isClosed = false
    receiver.onRequest((response) => {
      response.on('close', () => (isClosed = true))
      const writeForever = () => void (isClosed || response.write('x'.repeat(65_536), () => setImmediate(writeForever)))
      writeForever()
    })
    expect(await post(receiver.url, unrestricted)).toEqual({ isAccepted: true, httpStatus: 200 })
    receiver.onRequest((response) => response.write('slow'))
    expect(await post(receiver.url, unrestricted, 200)).toEqual({ isAccepted: true, httpStatus: 200 })
  })

  test('without a valid certificate causes an error without details', async () => {
    expect(await post(receiver.url.replace('http:', 'https:'), unrestricted)).toMatchObject({
      error: 'No secure connection: the certificate is not valid.',
    })
  })
})
