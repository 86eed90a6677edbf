import type { ServerResponse } from 'node:http'
import type { Route } from './routes-store.ts'

/** What the gateway itself says when no squid can. */
export type GatewayError = { status: number; code: string; error: string; retryAfterSeconds?: number }

export const noSuchAddress: GatewayError = {
  status: 404,
  code: 'NOT_FOUND',
  error:
    'There is nothing at this address. A squid answers at /<organization>/<name>@<slot>/api/graphql or /<organization>/<name>:<tag>/api/graphql.',
}

export const unknownSquid = (reference: string): GatewayError => ({
  status: 404,
  code: 'SQUID_NOT_FOUND',
  error: `There is no squid ${reference.slice(0, 100)} here. Was it deleted, or the tag moved?`,
})

export const noSuchProgram = (route: Route, what: string): GatewayError => ({
  status: 404,
  code: 'NOT_FOUND',
  error: `${route.name}@${route.slot} has no ${what}.`,
})

/** Null when the version should be answering. */
export function whyClosed(route: Route): GatewayError | null {
  const reference = `${route.name}@${route.slot}`
  if (route.wanted === 'deleted') return unknownSquid(reference)
  if (route.wanted === 'hibernated')
    return {
      status: 503,
      code: 'HIBERNATED',
      error: `${reference} is hibernated. Restart it to make it answer.`,
      retryAfterSeconds: 60,
    }
  if (!route.hasRun)
    return {
      status: 503,
      code: 'NOT_DEPLOYED',
      error: `${reference} has never run yet: its first deployment goes on, or it has failed.`,
      retryAfterSeconds: 5,
    }
  return null
}

export const notAnswering = (route: Route): GatewayError => ({
  status: 503,
  code: 'NOT_ANSWERING',
  error: `${route.name}@${route.slot} does not answer: it is starting, or it has crashed. Its log says which.`,
  retryAfterSeconds: 5,
})

export const upstreamClosed = (route: Route): GatewayError => ({
  status: 502,
  code: 'BROKEN_OFF',
  error: `${route.name}@${route.slot} broke the connection off before it answered.`,
})

export const timedOut = (route: Route): GatewayError => ({
  status: 504,
  code: 'TIMED_OUT',
  error: `${route.name}@${route.slot} did not answer in time.`,
})

export const bodyOf = ({ error, code }: GatewayError): string => JSON.stringify({ error, code })

/** Answers how many bytes the body has. */
export function sendAnswer(res: ServerResponse, answer: GatewayError, headers: readonly string[] = []): number {
  const body = bodyOf(answer)
  res.writeHead(answer.status, [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(body)),
    'cache-control',
    'no-store',
    ...(answer.retryAfterSeconds ? ['retry-after', String(answer.retryAfterSeconds)] : []),
    ...(headers.includes('access-control-allow-origin') ? headers : [...headers, 'access-control-allow-origin', '*']),
  ])
  res.end(body)
  return body.length
}
