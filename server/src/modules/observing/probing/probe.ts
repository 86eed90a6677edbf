import type { PortEndpoint } from '@shoal/runtime'
import { requestContainer } from './request-container.ts'
import { apiPort, hasuraPort, isHasura } from '../../containers.ts'

const timeoutMs = 5_000
const body = '{"query":"{__typename}"}'
const headers = { 'content-type': 'application/json' }

const apiPortName = `port ${apiPort}, which GRAPHQL_SERVER_PORT names`

/**
 * `problem`: why the program is not available, in a sentence; null if it is available. `responseText`: its unredacted error response, which
 * may contain secrets; null without an error response.
 */
export type ApiProbe = { problem: string | null; responseText: string | null }

/** Sends the simplest GraphQL query. An api is available if it responds with a status below 500, even if not with GraphQL. */
export async function requestApi(endpoint: PortEndpoint): Promise<ApiProbe> {
  const request = { method: 'POST' as const, path: '/graphql', headers, timeoutMs }
  try {
    const { status, text } = await requestContainer(endpoint, request, body)
    return status < 500
      ? { problem: null, responseText: null }
      : { problem: `It responded with HTTP status ${status}.`, responseText: text }
  } catch (error) {
    return { problem: problemOf(error, apiPortName), responseText: null }
  }
}

/** Requests the health of Hasura. It is healthy if it responds with a status below 400. */
async function requestHasura(endpoint: PortEndpoint): Promise<ApiProbe> {
  try {
    const { status, text } = await requestContainer(endpoint, { method: 'GET', path: '/healthz', timeoutMs })
    return status < 400
      ? { problem: null, responseText: null }
      : { problem: `It responded to /healthz with HTTP status ${status}.`, responseText: text }
  } catch (error) {
    return { problem: problemOf(error, `port ${hasuraPort}`), responseText: null }
  }
}

/** Returns the port of a container that serves requests, an api or Hasura, and the request that shows whether it is available. */
export const serverProbeOf = (
  name: string,
): { port: number; request: (endpoint: PortEndpoint) => Promise<ApiProbe> } =>
  isHasura({ name }) ? { port: hasuraPort, request: requestHasura } : { port: apiPort, request: requestApi }

function problemOf(error: unknown, port: string): string {
  const { code, name } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return `Nothing listens on ${port}.`
  if (name === 'TimeoutError' || name === 'AbortError')
    return `It accepts connections on ${port}, but has not responded within ${timeoutMs / 1000} s.`
  return `It does not respond to HTTP requests on ${port}.`
}
