import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { startRpcTestbed } from '../rpc/testbed.ts'
import { until } from '../../testing/until.ts'
import { createPortalRoute } from './index.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of cleanups.splice(0).toReversed()) await close()
})

/** Starts a server on a free port of the host's loopback, and returns the port. */
async function listen(handle: RequestListener): Promise<number> {
  const server = createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/**
 * Starts a portal, and a gateway in front of it. The portal's path `open` begins a response and does not end it, `endless` does not stop
 * sending.
 */
async function startGateway(limits: Parameters<typeof createPortalRoute>[1]) {
  const chunk = Buffer.alloc(65_536, 'x')
  let abandoned = 0
  const portal = await listen((req, res) => {
    res.on('close', () => void (abandoned += res.writableEnded ? 0 : 1))
    const fill = () => {
      while (res.write(chunk));
    }
    if (req.url?.endsWith('/open')) res.write('x')
    else if (req.url?.endsWith('/endless')) fill()
    else res.end('{"number":1}')
    res.on('drain', fill).on('error', () => {})
  })
  const testbed = await startRpcTestbed({ SHOAL_PORTAL_URL: `http://127.0.0.1:${portal}` })
  const route = createPortalRoute(testbed.app, limits)
  const port = await listen((req, res) => void route.handle(req, res, 'ethereum-mainnet', req.url?.slice(1) ?? ''))
  cleanups.push(testbed.close, route.close)
  /** Requests a path from an address of the loopback network, and does not read the response. */
  const requestFrom = async (localAddress: string, path: string): Promise<IncomingMessage> => {
    const request = get({ port, host: '127.0.0.1', localAddress, path: `/${path}`, agent: false })
    request.on('error', () => {})
    cleanups.push(async () => request.destroy())
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    return response
  }
  return { requestFrom, abandoned: () => abandoned }
}

test('callers with many open responses take neither the connections of others nor more than their share', async () => {
  const { requestFrom } = await startGateway({ maxPerCaller: 50, stallMs: 60_000 })
  const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4']
  const open = addresses.flatMap((address) => Array.from({ length: 50 }, () => requestFrom(address, 'open')))
  expect(new Set((await Promise.all(open)).map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  const rejected = await requestFrom('127.0.0.2', 'head')
  expect([rejected.statusCode, rejected.headers['retry-after']]).toEqual([429, '5'])
  expect((await requestFrom('127.0.0.5', 'head')).statusCode).toBe(200)
  // A closed response no longer counts.
  ;(await open[0])?.destroy()
  await until(async () => expect((await requestFrom('127.0.0.2', 'head')).statusCode).toBe(200))
})

test('the response to a caller that accepts no data is ended, and with it that of the portal', async () => {
  const { requestFrom, abandoned } = await startGateway({ maxPerCaller: 64, stallMs: 100 })
  const response = await requestFrom('127.0.0.2', 'endless')
  expect(response.statusCode).toBe(200)
  await until(() => expect(abandoned()).toBe(1))
})
