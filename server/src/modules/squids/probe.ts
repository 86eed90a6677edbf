import type { Endpoint } from '@shoal/runtime'
import { askContainer } from './ask-container.ts'
import { apiPort } from './workload.ts'

const timeoutMs = 5_000
const body = '{"query":"{__typename}"}'
const headers = { 'content-type': 'application/json', 'content-length': body.length }

/**
 * Null when the api answers: a GraphQL server its simplest query, any other server anything below 500 (contract 7). Otherwise
 * a sentence that says what is wrong.
 */
export async function probeApi(endpoint: Endpoint): Promise<string | null> {
  try {
    const { status } = await askContainer(endpoint, { method: 'POST', path: '/graphql', headers, timeoutMs }, body)
    return status < 500 ? null : `It answers HTTP with status ${status}.`
  } catch {
    return `It does not answer HTTP on port ${apiPort}, which GRAPHQL_SERVER_PORT names.`
  }
}
