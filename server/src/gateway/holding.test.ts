import { request, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { SquidRow } from '../modules/versions/index.ts'
import { until } from '../testing/until.ts'
import { openGatewayBed, type GatewayBed } from './testing/testbed.ts'

const maxHeld = 20

let bed: GatewayBed
let squid: SquidRow

const api = () => `${bed.url}/acme/test-squid@v1/api/graphql`
const json = { 'content-type': 'application/json' }
const mutation = { method: 'POST', headers: json, body: '{"query":"mutation { pay }"}' }

/** Answers what it was sent, and counts. */
const echo = () => {
  const told = { requests: 0 }
  const listener = (req: IncomingMessage, res: ServerResponse) => {
    told.requests++
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => res.end(Buffer.concat(chunks)))
  }
  return { told, listener }
}

/** A request whose end is not waited for. */
const ask = (init: { method?: string; headers?: Record<string, string> } = {}) => {
  const call = request(api(), { agent: false, ...init })
  call.on('error', () => undefined)
  call.end()
  return call
}

const millis = async (work: () => Promise<unknown>): Promise<number> => {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

describe('while no program of a version answers', () => {
  beforeEach(async () => {
    bed = await openGatewayBed({}, { heldMs: 15_000, maxHeld })
    squid = await bed.version({ processors: { eth: {} } })
  })
  afterEach(() => bed.close())

  test('a mutation waits, and reaches the program that starts exactly once', async () => {
    const asked = fetch(api(), mutation)
    const { told, listener } = echo()
    await bed.serve(squid, listener)
    const answer = await asked
    expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 200, text: mutation.body })
    expect(told.requests).toBe(1)
  })

  test('a large body and one of unknown length wait unread, and arrive whole', async () => {
    const large = Buffer.alloc(1_000_000, 'x')
    const asked = [
      fetch(api(), { method: 'POST', body: large }),
      fetch(api(), { method: 'POST', body: new Blob([large]).stream(), duplex: 'half' }),
    ]
    await bed.serve(squid, echo().listener)
    for (const answer of await Promise.all(asked)) expect((await answer.arrayBuffer()).byteLength).toBe(large.length)
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

  test('requests are told at once when the version is hibernated', async () => {
    const asked = fetch(api(), mutation)
    await bed.change(squid, { wanted: 'hibernated' })
    expect(await (await asked).json()).toMatchObject({ code: 'HIBERNATED' })
  })

  test('requests go to the generation that an update switches to', async () => {
    const asked = fetch(api(), mutation)
    await bed.serve(squid, (_, res) => void res.end('new'), { generation: 2 })
    await bed.change(squid, { generation: 2 })
    expect(await (await asked).text()).toBe('new')
  })

  test('so many wait and no more; the place of a caller that hangs up is free again', async () => {
    const calls = Array.from({ length: maxHeld }, () => ask())
    await until(async () => expect((await fetch(api(), { signal: AbortSignal.timeout(500) })).status).toBe(503))
    calls.pop()?.destroy()
    await until(async () => await expect(fetch(api(), { signal: AbortSignal.timeout(500) })).rejects.toThrow('timeout'))
    for (const call of calls) call.destroy()
  }, 30_000)

  test('the metrics of a processor are refused at once', async () => {
    const metrics = `${bed.url}/acme/test-squid@v1/processors/eth/metrics`
    expect(await millis(async () => expect((await fetch(metrics)).status).toBe(503))).toBeLessThan(5_000)
  })
})

describe('a version that does not come back', () => {
  beforeEach(async () => {
    bed = await openGatewayBed({}, { heldMs: 800, failedAfterMs: 1_500 })
    squid = await bed.version()
  })
  afterEach(() => bed.close())

  test('is waited for so long, later not at all, and again once it has answered', async () => {
    const refusedMs = () => millis(async () => expect((await fetch(api())).status).toBe(503))
    expect(await refusedMs()).toBeGreaterThan(700)
    await until(async () => expect(await refusedMs()).toBeLessThan(300))
    const served = await bed.serve(squid, echo().listener)
    await until(async () => expect((await fetch(api())).status).toBe(200))
    await served.close()
    expect(await refusedMs()).toBeGreaterThan(700)
  })
})
