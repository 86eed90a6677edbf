import type { Endpoint } from '@shoal/runtime'
import { request, type RequestOptions } from 'node:http'

/** Maximum size of a response: no metrics page is nearly as large. */
const maxBytes = 4_000_000

/** The status of an HTTP response, and its whole body. */
export type ContainerResponse = { status: number; text: string }

/** Sends an HTTP request to a program in a container. @throws Error unless a complete response arrives in time */
export function requestContainer(
  endpoint: Endpoint,
  options: Pick<RequestOptions, 'method' | 'path' | 'headers'> & { timeoutMs: number },
  body?: string,
): Promise<ContainerResponse> {
  const address =
    endpoint.kind === 'unix' ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port }
  const { timeoutMs, ...requestOptions } = { ...options, ...address, agent: false }
  return new Promise((resolve, reject) => {
    const call = request({ ...requestOptions, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        length += chunk.length
        if (length > maxBytes) response.destroy(new Error('The response is too long'))
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
      response.on('error', reject)
    })
    call.on('error', reject)
    call.end(body)
  })
}
