import type { Endpoint } from '@shoal/runtime'
import { request, type RequestOptions } from 'node:http'

const timeoutMs = 5_000

/**
 * True when the api answers: a GraphQL server its simplest query, any other server anything below 500 (contract 7).
 */
export async function apiAnswers(endpoint: Endpoint): Promise<boolean> {
  const body = '{"query":"{__typename}"}'
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const status = await statusOf(endpoint, { method: 'POST', path: '/graphql', headers }, body)
  return status !== null && status < 500
}

/** True when the processor's metrics port answers HTTP, whatever it says. */
export async function metricsAnswer(endpoint: Endpoint): Promise<boolean> {
  return (await statusOf(endpoint, { method: 'GET', path: '/metrics' })) !== null
}

/** The status of the answer; null when none came in time. */
function statusOf(endpoint: Endpoint, options: RequestOptions, body?: string): Promise<number | null> {
  const where = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port }
  return new Promise((done) => {
    const call = request({ ...options, ...where, agent: false, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      done(answer.statusCode ?? null)
      // What it says does not matter, and it may never end.
      answer.destroy()
    })
    call.on('error', () => done(null))
    call.end(body)
  })
}
