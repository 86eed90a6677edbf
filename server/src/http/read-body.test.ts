import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestApp, type TestApp, type TestUser } from '../testing/index.ts'

let t: TestApp
let user: TestUser
beforeAll(async () => {
  t = await startTestApp()
  user = await t.make.user()
})
afterAll(() => t?.close())

/** Sends a call over a new connection, with a body in chunks, and returns the status and body of the response. */
async function send(path: string, chunks: string[], token?: string) {
  const { hostname, port } = new URL(await t.listen())
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  const authorization = token ? `authorization: token ${token}\r\n` : ''
  socket.write(
    `POST /api/v1/${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${authorization}transfer-encoding: chunked\r\n\r\n`,
  )
  for (const chunk of chunks) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  const response = once(socket, 'data') as Promise<[string]>
  const end = () => void socket.write('0\r\n\r\n')
  return { response: response.then(([text]) => ({ status: Number(text.split(' ')[1]), text })), end }
}

const largeName = JSON.stringify({ code: 'x', name: 'x'.repeat(100_000), email: 'a@example.com' })
const tooLarge = { status: 405, text: expect.stringContaining('TOO_LARGE') as string }

test('a large body of a caller who is not signed in is rejected before it has arrived', async () => {
  for (const token of [undefined, 'unknown']) {
    const { response } = await send('orgs', [largeName], token)
    expect(await response).toEqual(tooLarge)
  }
  const { response } = await send('auth/signin', [largeName])
  expect(await response).toEqual(tooLarge)
  const declared = await t.http.inject({ method: 'POST', url: '/api/v1/auth/signin', payload: JSON.parse(largeName) })
  expect([declared.statusCode, declared.json<{ code: string }>().code]).toEqual([405, 'TOO_LARGE'])
})

test('a large body of a caller who is signed in is read, up to the maximum', async () => {
  const large = await send('orgs', [largeName], user.token)
  large.end()
  expect(await large.response).toMatchObject({ status: 400 })
  const tooLargeForAll = await send(
    'orgs',
    Array.from({ length: 12 }, () => largeName),
    user.token,
  )
  expect(await tooLargeForAll.response).toEqual(tooLarge)
})

test('a body in chunks of one byte is read completely', async () => {
  const body = JSON.stringify({ code: 'tiny-chunks', name: 'x'.repeat(3_000), email: 'a@example.com' })
  const { response, end } = await send('orgs', body.match(/./g) ?? [], user.token)
  end()
  const { text } = await response
  expect(text).toContain('"path":["name"]')
})
