import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../testing/until.ts'
import { openGatewayTestbed } from './testing/testbed.ts'

const large = 'x'.repeat(100_000)

test('callers that send bodies slowly leave connections to the squid for other requests, and for bodies of other addresses', async () => {
  const bed = await openGatewayTestbed()
  onTestFinished(bed.close)
  const squid = await bed.createVersion()
  let received = 0
  await bed.serve(squid, (req, res) => {
    received += 1
    req.resume().on('end', () => res.end('complete'))
  })
  const url = `${bed.url}/acme/test-squid@v1/api/graphql`

  /** Begins to send a body, and returns a function that sends the rest and returns the response. */
  const begin = (
    localAddress: string,
    headers: Record<string, string | number> = { 'content-length': large.length },
  ) => {
    const caller = request(url, { method: 'POST', agent: false, localAddress, headers })
    onTestFinished(() => void caller.destroy())
    caller.on('error', () => undefined)
    const receive = async () => {
      const [res] = (await once(caller, 'response')) as [IncomingMessage]
      return { status: res.statusCode, body: await text(res) }
    }
    const response = receive()
    response.catch(() => undefined)
    caller.write('x')
    return { caller, response, end: () => (caller.end(large.slice(1)), response) }
  }
  const beginMany = async (address: string): Promise<{ caller: ClientRequest }[]> => {
    const before = received
    const uploads = Array.from({ length: 32 }, () => begin(address))
    await until(() => expect(received).toBe(before + 32))
    return uploads
  }
  const rejected = { status: 429, body: expect.stringContaining('TOO_MANY_UPLOADS') as string }
  const accepted = { status: 200, body: 'complete' }
  const sendQuery = async () => (await fetch(url, { method: 'POST', body: '{"query":"{ a }"}' })).status

  const [first] = await beginMany('127.0.0.1')
  expect(await begin('127.0.0.1').response).toEqual(rejected)
  expect(await begin('127.0.0.1', { 'transfer-encoding': 'chunked' }).response).toEqual(rejected)
  expect(await sendQuery()).toBe(200)
  expect(await begin('127.0.0.2').end()).toEqual(accepted)

  first?.caller.destroy()
  await until(async () => expect(await begin('127.0.0.1').end()).toEqual(accepted))
  const before = received
  const last = begin('127.0.0.1')
  await until(() => expect(received).toBe(before + 1))
  await beginMany('127.0.0.2')
  expect(await begin('127.0.0.3').response).toEqual(rejected)
  expect(await sendQuery()).toBe(200)

  expect(await last.end()).toEqual(accepted)
  await until(async () => expect(await begin('127.0.0.3').end()).toEqual(accepted))
})
