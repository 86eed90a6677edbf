import type { Endpoint } from '@shoal/runtime'
import { requestContainer } from './request-container.ts'
import { apiPort } from '../../manifest/index.ts'

const timeoutMs = 5_000
const body = '{"query":"{__typename}"}'
const headers = { 'content-type': 'application/json', 'content-length': body.length }

/** `fault`: a sentence; null if the api responds. `responseText`: its unredacted error response, which may contain secrets. */
export type ApiProbe = { fault: string | null; responseText: string | null }

/** Sends the simplest GraphQL query. An api is available if it responds with a status below 500, even if not with GraphQL. */
export async function requestApi(endpoint: Endpoint): Promise<ApiProbe> {
  const request = { method: 'POST', path: '/graphql', headers, timeoutMs }
  try {
    const { status, text } = await requestContainer(endpoint, request, body)
    return status < 500
      ? { fault: null, responseText: null }
      : { fault: `It responded with HTTP status ${status}.`, responseText: text }
  } catch (error) {
    return { fault: faultOf(error), responseText: null }
  }
}

/** Probes an api and returns only the fault. */
export const probeApi = async (endpoint: Endpoint): Promise<string | null> => (await requestApi(endpoint)).fault

const port = `port ${apiPort}, which GRAPHQL_SERVER_PORT names`

function faultOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return `Nothing listens on ${port}.`
  if (name === 'TimeoutError' || name === 'AbortError')
    return `It accepts connections on ${port}, but has not responded within ${timeoutMs / 1000} s.`
  return `It does not respond to HTTP requests on ${port}.`
}
