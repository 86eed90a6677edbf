import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { Pool } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../testing/until.ts'
import { exchange } from './exchange.ts'

const resultBytes = 20_000_000

/** Starts a node whose responses have 20 MB, with at most two connections to it. `open`: the responses that have not ended. */
async function startNode() {
  const open = new Set<ServerResponse>()
  const server = createServer((_, res) => {
    open.add(res)
    res.on('close', () => open.delete(res)).on('error', () => {})
    res.end(Buffer.alloc(resultBytes, 'x'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { connections: 2 })
  onTestFinished(async () => {
    await pool.destroy()
    server.closeAllConnections()
    server.close()
  })
  const request = (minReadRate: Parameters<typeof exchange>[1]['minReadRate']) =>
    exchange(pool, { method: 'POST', path: '/', maxBufferedBytes: 100_000, ...(minReadRate ? { minReadRate } : {}) })
  return { open, request }
}

test('callers that do not read their responses lose them when other requests wait for a connection', async () => {
  const { request } = await startNode()
  const minReadRate = { checkMs: 50, minBytes: 1_000, maxIdleChecks: Infinity }
  const stalled = [await request(minReadRate), await request(minReadRate)]
  const { bytes, rest } = await request(minReadRate)
  expect(bytes.length + (rest ? (await buffer(rest)).length : 0)).toBe(resultBytes)
  const outcomes = await Promise.allSettled(stalled.map(async ({ rest: stream }) => stream && (await buffer(stream))))
  const errors = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  expect(errors.join()).toMatch(/too slowly/)
})

test('callers keep their responses while no request waits, but not forever', async () => {
  const { open, request } = await startNode()
  const [kept, idle] = [
    await request({ checkMs: 50, minBytes: 1_000, maxIdleChecks: Infinity }),
    await request({ checkMs: 50, minBytes: 1_000, maxIdleChecks: 3 }),
  ]
  await until(() => expect(open.size).toBe(1))
  expect(idle.rest?.destroyed).toBe(true)
  expect(kept.bytes.length + (kept.rest ? (await buffer(kept.rest)).length : 0)).toBe(resultBytes)
})
