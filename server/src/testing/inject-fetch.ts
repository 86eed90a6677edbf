import type { FastifyInstance } from 'fastify'

export type InjectFetchOptions = {
  /** Where the call seems to come from; default loopback. */
  ip?: string
}

/** A `fetch` that calls the server without a port. Bodies are text; a stream is answered when it has ended. */
export function injectFetch(server: FastifyInstance, options: InjectFetchOptions = {}): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const answer = await server.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: `${url.pathname}${url.search}`,
      headers: Object.fromEntries(new Headers(init.headers)),
      ...(typeof init.body === 'string' ? { payload: init.body } : {}),
      ...(options.ip === undefined ? {} : { remoteAddress: options.ip }),
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(answer.headers))
      for (const one of [value].flat()) if (one !== undefined) headers.append(name, String(one))
    const hasBody = answer.statusCode !== 204 && answer.statusCode !== 304
    return new Response(hasBody ? new Uint8Array(answer.rawPayload) : null, { status: answer.statusCode, headers })
  }
}
