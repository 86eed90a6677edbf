import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { requestContainer, type ContainerRequest } from './request-container.ts'

let close: (() => void) | null = null
afterEach(() => close?.())

/** Lets the server listen on a unix socket, and returns a function that sends requests to it. */
async function serve(server: Server) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-probe-'))
  const path = join(dir, 's.sock')
  await new Promise<void>((done) => server.listen(path, done))
  close = () => {
    server.close()
    rmSync(dir, { recursive: true, force: true })
  }
  return (request: Partial<ContainerRequest> = {}, body?: string) =>
    requestContainer({ kind: 'unix', path }, { method: 'GET', path: '/metrics', timeoutMs: 5_000, ...request }, body)
}

const serveHttp = (listener: RequestListener) => serve(createHttpServer(listener))
/** Serves a program that responds to every connection with these parts, one after another, and then keeps the connection or ends it. */
const serveParts = (parts: string[], isEnded = false) =>
  serve(
    createServer((socket) => {
      socket.on('error', () => undefined)
      socket.setNoDelay()
      const writeNext = (index: number) => {
        const part = parts[index]
        if (part !== undefined) socket.write(part, () => setImmediate(writeNext, index + 1))
        else if (isEnded) socket.end()
      }
      writeNext(0)
    }),
  )

test('a request has a method, a path, headers and a body', async () => {
  const send = await serveHttp((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const { method, url, headers } = request
        response.writeHead(201).end(JSON.stringify([method, url, headers['x-name'], Buffer.concat(chunks).toString()]))
      })
  })
  const { status, text } = await send({ method: 'POST', path: '/graphql', headers: { 'x-name': 'value' } }, '{"ü":1}')
  expect(status).toBe(201)
  expect(JSON.parse(text)).toEqual(['POST', '/graphql', 'value', '{"ü":1}'])
})

test('a large response that a program sends in chunks is complete', async () => {
  const parts = Array.from({ length: 300 }, (_, i) => `line ${i} ü ${'x'.repeat(i * 10)}\n`)
  const send = await serveHttp((_, response) => {
    for (const part of parts) response.write(part)
    response.end()
  })
  expect(await send()).toEqual({ status: 200, text: parts.join('') })
})

test('a response may arrive byte by byte, and the connection may stay open after it', async () => {
  const head = 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'
  const send = await serveParts(`${head}3;name=value\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n`.split(''))
  expect(await send()).toEqual({ status: 200, text: 'abc0123456789' })
})

test('the length of a body is in a header, or the connection ends after it', async () => {
  const withLength = await serveParts(['HTTP/1.0 404 Not Found\r\nCONTENT-LENGTH:  4\r\n', '\r\nlo', 'st and more'])
  expect(await withLength()).toEqual({ status: 404, text: 'lost' })
  close?.()
  const untilEnd = await serveParts(['HTTP/1.1 200 OK\r\n\r\n', 'to the ', 'end'], true)
  expect(await untilEnd()).toEqual({ status: 200, text: 'to the end' })
  close?.()
  const empty = await serveParts(['HTTP/1.1 204 No Content\r\n\r\n'])
  expect(await empty()).toEqual({ status: 204, text: '' })
})

test.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc', 'The connection ended before the response was complete'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc', 'The connection ended before the response'],
  ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nabc!\r\n', 'A chunk of the response has no size'],
  ['HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n', 'The length of the response is not a number'],
  ['SSH-2.0-OpenSSH_9.6\r\n\r\n', 'The response is not HTTP'],
  ['', 'The connection ended before the response was complete'],
])('the response %j fails: %s', async (text, message) => {
  const send = await serveParts([text], true)
  await expect(send()).rejects.toThrow(message)
})

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

test.each([
  ['headers', ['HTTP/1.1 200 OK\r\n', `name: ${'x'.repeat(70_000)}`], 'The headers of the response are too long'],
  ['sequence of informational responses', ['HTTP/1.1 100 Continue\r\n\r\n'.repeat(20_000)], 'too many parts'],
  ['sequence of tiny chunks', [`${chunked}${'1\r\nx\r\n'.repeat(20_000)}`], 'too many parts'],
  ['chunk extension', [`${chunked}1;${'x'.repeat(1_000)}`], 'A chunk of the response has no size'],
  ['body', ['HTTP/1.1 200 OK\r\n\r\n', ...Array<string>(5).fill('x'.repeat(1_000_000))], 'The response is too long'],
])('a response with a %s without end fails', async (_, parts, message) => {
  const send = await serveParts(parts)
  await expect(send()).rejects.toThrow(message)
})

test('a program that does not respond, and one that does not listen, fail with errors that say so', async () => {
  const send = await serveParts(['HTTP/1.1 200 OK\r\n'])
  await expect(send({ timeoutMs: 50 })).rejects.toMatchObject({ name: 'TimeoutError' })
  close?.()
  await expect(send()).rejects.toMatchObject({ code: 'ENOENT' })
  const refused = requestContainer(
    { kind: 'tcp', host: '127.0.0.1', port: 9 },
    { method: 'GET', path: '/', timeoutMs: 5_000 },
  )
  await expect(refused).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
