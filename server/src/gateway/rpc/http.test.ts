import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { readText } from './http.ts'

test('reading the body of a caller that has already disconnected fails', async () => {
  const received = Promise.withResolvers<IncomingMessage>()
  const server = createServer((req) => received.resolve(req))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const call = request({ port, host: '127.0.0.1', method: 'POST', headers: { 'content-length': 100 } })
  call.on('error', () => {})
  call.write('begin')
  const req = await received.promise
  const closed = new Promise((done) => req.once('close', done))
  call.destroy()
  await closed
  await expect(readText(req, 1_000, () => 1_000)).rejects.toThrow('disconnected')
})

test('a body of thousands of tiny parts is read completely', async () => {
  const body = JSON.stringify({ params: 'äx'.repeat(1_500) })
  const parts = [...Buffer.from(body)].map((byte) => Buffer.from([byte]))
  const req = Object.assign(Readable.from(parts), { headers: {}, complete: true }) as unknown as IncomingMessage
  expect(await readText(req, 1_000, () => 10_000)).toBe(body)
})
