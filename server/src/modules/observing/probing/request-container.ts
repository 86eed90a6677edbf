import type { Endpoint } from '@shoal/runtime'
import { request, type RequestOptions } from 'node:http'

/** Maximum size of a response; no metrics page is nearly as large. */
const maxBytes = 4_000_000

export type Answer = { status: number; text: string }

/** Sends an HTTP request to a program in a container. @throws Error unless a complete response arrives in time */
export function requestContainer(
  endpoint: Endpoint,
  options: Pick<RequestOptions, 'method' | 'path' | 'headers'> & { timeoutMs: number },
  body?: string,
): Promise<Answer> {
  const where = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port }
  const { timeoutMs, ...requestOptions } = { ...options, ...where, agent: false }
  return new Promise((done, failed) => {
    const call = request({ ...requestOptions, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const pieces: Buffer[] = []
      let length = 0
      response.on('data', (piece: Buffer) => {
        pieces.push(piece)
        length += piece.length
        if (length > maxBytes) response.destroy(new Error('The answer is too long'))
      })
      response.on('end', () => done({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() }))
      response.on('error', failed)
    })
    call.on('error', failed)
    call.end(body)
  })
}
