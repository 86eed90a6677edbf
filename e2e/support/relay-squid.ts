import { bareManifest, makeBareSquid } from './bare-squid.ts'

/** A request that the squid sends. It may have any header, even `host`. */
export type RelayedRequest = {
  method?: 'GET' | 'POST' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: unknown
}

/** The response that the squid received; `status` is 0 if it could not connect. */
export type RelayedResponse = { status: number; headers: Record<string, string>; text: string }

const api = `
const http = require('node:http')
const send = ({ method = 'GET', url, headers = {}, body }) => new Promise((done) => {
  const text = body === undefined ? '' : JSON.stringify(body)
  const type = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const request = http.request(url, { method, headers: { ...type, ...headers }, timeout: 5000 }, (response) => {
    let received = ''
    response.setEncoding('utf8').on('data', (piece) => (received += piece))
    response.on('end', () => done({ status: response.statusCode, headers: response.headers, text: received }))
  })
  const fail = (error) => done({ status: 0, headers: {}, text: String(error) })
  request.on('error', fail).on('timeout', () => request.destroy(new Error('timeout')))
  request.end(text)
})
http.createServer(async (request, response) => {
  let text = ''
  for await (const piece of request) text += piece
  const relayed = text === '' ? {} : JSON.parse(text)
  // The readiness check sends a GraphQL query.
  response.end(JSON.stringify(relayed.url ? await send(relayed) : { data: { __typename: 'Query' } }))
}).listen(process.env.GQL_PORT)
`

/** Creates a hostile squid whose api receives a `RelayedRequest` as JSON, sends it from the server's host, and returns the `RelayedResponse`. */
export const makeRelaySquid = (name: string): string =>
  makeBareSquid(name, { 'squid.yaml': bareManifest(name), 'api.js': api })
