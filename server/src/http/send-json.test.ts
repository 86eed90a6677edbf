import { endpoint } from '@shoal/contract'
import Fastify from 'fastify'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { sendJson } from './send-json.ts'

const names = endpoint({
  method: 'GET',
  path: '/names',
  access: 'public',
  summary: 'Returns names',
  payload: z.array(z.string()),
})

const manyNames = Array.from({ length: 500 }, (_, index) => `squid-${index}`)

/** Serves these names, and returns a function that requests them with the given headers. */
function serve(payload: string[]) {
  const server = Fastify()
  onTestFinished(() => server.close())
  server.get('/names', (request, reply) => sendJson(names, request, reply, payload))
  return (headers: Record<string, string>) => server.inject({ url: '/names', headers })
}

test.each([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
])('a long response is compressed with %s if the caller accepts that', async (encoding, decompress) => {
  const { rawPayload, headers } = await serve(manyNames)({ 'accept-encoding': `deflate, ${encoding}` })
  expect(headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' })
  expect(rawPayload.length).toBeLessThan(2000)
  expect(JSON.parse(decompress(rawPayload).toString())).toEqual({ payload: manyNames })
})

test.each(['', 'identity', 'deflate', 'br;q=0, gzip;q=0.0'])(
  'a long response is not compressed for a caller that accepts "%s"',
  async (accepted) => {
    const response = await serve(manyNames)({ 'accept-encoding': accepted })
    expect(response.headers['content-encoding']).toBeUndefined()
    expect(response.json()).toEqual({ payload: manyNames })
  },
)

test('a short response is not compressed', async () => {
  const { headers } = await serve(['squid'])({ 'accept-encoding': 'br' })
  expect(headers['content-encoding']).toBeUndefined()
})

test('the ETag of a response is recognized in every encoding', async () => {
  const get = serve(manyNames)
  const tag = String((await get({ 'accept-encoding': 'br' })).headers['etag'])
  for (const encoding of ['br', 'gzip', 'identity']) {
    const { statusCode, rawPayload, headers } = await get({ 'accept-encoding': encoding, 'if-none-match': tag })
    expect([statusCode, rawPayload.length, headers['content-encoding']]).toEqual([304, 0, undefined])
  }
})
