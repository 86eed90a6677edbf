import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import type { Request } from '../modules/call.ts'

/** Creates the view of a request that handlers receive. */
export function requestOf(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  changeFunctions: Pick<Request, 'audit' | 'inTransaction' | 'afterCommit'>,
): Request {
  const disconnected = new AbortController()
  reply.raw.once('close', () => disconnected.abort())
  return {
    id: request.id,
    ip: request.ip,
    userAgent: request.headers['user-agent'] ?? null,
    signal: disconnected.signal,
    ...changeFunctions,
    cookie: (name) => cookieOf(request.headers.cookie ?? '', name),
    setCookie: (name, value, maxAgeMs) => {
      const isSecure = app.config.publicUrl.startsWith('https:')
      reply.header('set-cookie', cookieText(name, value, maxAgeMs, isSecure))
    },
  }
}

/** Returns the value of a cookie in a `Cookie` header, or null if the header does not contain it. */
export function cookieOf(header: string, name: string): string | null {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return null
}

function cookieText(name: string, value: string | null, maxAgeMs: number, isSecure: boolean): string {
  const maxAgeSeconds = value === null ? 0 : Math.floor(maxAgeMs / 1000)
  return `${name}=${value ?? ''}; Path=/api; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
}
