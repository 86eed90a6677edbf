import type { Endpoint } from '@shoal/runtime'
import { request, type RequestOptions } from 'node:http'

/** No metrics page is longer; what is has something wrong with it. */
const maxAnswer = 4_000_000

export type Answer = { status: number; text: string }

/** Asks a program in a container over HTTP. @throws Error when no whole answer came in time */
export function requestContainer(
  endpoint: Endpoint,
  options: Pick<RequestOptions, 'method' | 'path' | 'headers'> & { timeoutMs: number },
  body?: string,
): Promise<Answer> {
  const where = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port }
  const { timeoutMs, ...asked } = { ...options, ...where, agent: false }
  return new Promise((done, failed) => {
    const call = request({ ...asked, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      const pieces: Buffer[] = []
      let length = 0
      answer.on('data', (piece: Buffer) => {
        pieces.push(piece)
        length += piece.length
        if (length > maxAnswer) answer.destroy(new Error('The answer is too long'))
      })
      answer.on('end', () => done({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString() }))
      answer.on('error', failed)
    })
    call.on('error', failed)
    call.end(body)
  })
}
