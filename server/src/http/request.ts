import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import type { Request } from '../modules/call.ts'

/** The view of a request that handlers receive. */
export function requestOf(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  changing: Pick<Request, 'audit' | 'inTransaction'>,
): Request {
  const disconnected = new AbortController()
  reply.raw.once('close', () => disconnected.abort())
  return {
    id: request.id,
    ip: request.ip,
    userAgent: request.headers['user-agent'] ?? null,
    isLocal: isLocal(request),
    signal: disconnected.signal,
    ...changing,
    cookie: (name) => cookieOf(request.headers.cookie ?? '', name),
    setCookie: (name, value, maxAgeMs) => {
      const isSecure = app.config.publicUrl.startsWith('https:')
      reply.header('set-cookie', cookieText(name, value, maxAgeMs, isSecure))
    },
  }
}

const loopback = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const localHost = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/**
 * True if the request comes from this machine: from a loopback address, not through a proxy, and for a host name that always means
 * this machine (another site's name may resolve to 127.0.0.1).
 */
export function isLocal(request: Pick<FastifyRequest, 'headers' | 'socket'>): boolean {
  const { headers } = request
  const isProxied = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'].some((name) => headers[name] !== undefined)
  return !isProxied && loopback.test(request.socket.remoteAddress ?? '') && localHost.test(headers.host ?? '')
}

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
