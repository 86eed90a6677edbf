import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { SquidRow } from '../modules/versions/index.ts'
import { until } from '../testing/until.ts'
import { openGatewayTestbed, type GatewayTestbed } from './testing/testbed.ts'

const maxHeld = 20

let bed: GatewayTestbed
let squid: SquidRow

const api = () => `${bed.url}/acme/test-squid@v1/api/graphql`
const json = { 'content-type': 'application/json' }
const mutation = { method: 'POST', headers: json, body: '{"query":"mutation { pay }"}' }

/** Echoes request bodies and counts requests. */
const echo = () => {
  const counts = { requests: 0 }
  const listener = (req: IncomingMessage, res: ServerResponse) => {
    counts.requests++
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => res.end(Buffer.concat(chunks)))
  }
  return { counts, listener }
}

/** Starts a request without waiting for its response. */
const startRequest = (init: { method?: string; headers?: Record<string, string> } = {}) => {
  const call = request(api(), { agent: false, ...init })
  call.on('error', () => undefined)
  call.end()
  return call
}

const elapsedMs = async (work: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

describe('while no program of a version responds', () => {
  beforeEach(async () => {
    bed = await openGatewayTestbed({}, { maxWaitMs: 15_000, maxHeld })
    squid = await bed.createVersion({ processors: { eth: {} } })
  })
  afterEach(() => bed.close())

  test('a mutation waits until a program starts, and is sent to it exactly once', async () => {
    const pending = fetch(api(), mutation)
    const { counts, listener } = echo()
    await bed.serve(squid, listener)
    const response = await pending
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: mutation.body })
    expect(counts.requests).toBe(1)
  })

  test('large bodies and bodies of unknown length arrive completely after a wait', async () => {
    const large = Buffer.alloc(1_000_000, 'x')
    const pending = [
      fetch(api(), { method: 'POST', body: large }),
      fetch(api(), { method: 'POST', body: new Blob([large]).stream(), duplex: 'half' }),
    ]
    await bed.serve(squid, echo().listener)
    for (const response of await Promise.all(pending))
      expect((await response.arrayBuffer()).byteLength).toBe(large.length)
  })

  test('an upgrade to a WebSocket waits', async () => {
    const socket = new WebSocket(api().replace('http', 'ws'))
    const opened = new Promise((done, fail) => socket.once('open', done).once('error', fail))
    const { server } = await bed.serve(squid, (_, res) => void res.writeHead(400).end())
    const squidServer = new WebSocketServer({ server })
    await opened
    expect(squidServer.clients.size).toBe(1)
    socket.terminate()
  })

  test('requests are rejected immediately when the version is hibernated', async () => {
    const pending = fetch(api(), mutation)
    await bed.updateVersion(squid, { desiredState: 'hibernated' })
    expect(await (await pending).json()).toMatchObject({ code: 'HIBERNATED' })
  })

  test('requests are sent to the generation that an update switches to', async () => {
    const pending = fetch(api(), mutation)
    await bed.serve(squid, (_, res) => void res.end('new'), { generation: 2 })
    await bed.updateVersion(squid, { generation: 2 })
    expect(await (await pending).text()).toBe('new')
  })

  test('the number of waiting requests is limited, and a caller that disconnects is no longer counted', async () => {
    const calls = Array.from({ length: maxHeld }, () => startRequest())
    await until(async () => expect((await fetch(api(), { signal: AbortSignal.timeout(2_000) })).status).toBe(503))
    calls.pop()?.destroy()
    await until(async () => await expect(fetch(api(), { signal: AbortSignal.timeout(500) })).rejects.toThrow('timeout'))
    for (const call of calls) call.destroy()
  })

  test('requests for the metrics of a processor are rejected without being held', async () => {
    const metrics = `${bed.url}/acme/test-squid@v1/processors/eth/metrics`
    expect(await elapsedMs(async () => expect((await fetch(metrics)).status).toBe(503))).toBeLessThan(12_000)
  })
})

describe('requests to a version that is down', () => {
  beforeEach(async () => {
    bed = await openGatewayTestbed({}, { maxWaitMs: 800, failedAfterMs: 4_000 })
    squid = await bed.createVersion()
  })
  afterEach(() => bed.close())

  test('are held until the version counts as failed; after it has responded once, the next outage holds them again', async () => {
    const rejectionMs = () => elapsedMs(async () => expect((await fetch(api())).status).toBe(503))
    expect(await rejectionMs()).toBeGreaterThan(700)
    await until(async () => expect(await rejectionMs()).toBeLessThan(300))
    const served = await bed.serve(squid, echo().listener)
    await until(async () => expect((await fetch(api())).status).toBe(200))
    await served.close()
    expect(await rejectionMs()).toBeGreaterThan(700)
  })
})
