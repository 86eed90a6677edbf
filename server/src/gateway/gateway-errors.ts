import type { ServerResponse } from 'node:http'
import type { Route } from './routes-store.ts'

/** An error response from the gateway itself. */
export type GatewayError = { status: number; code: string; error: string; retryAfterSeconds?: number }

/** The URL addresses neither a squid nor another service of the gateway. */
export const unknownUrl: GatewayError = {
  status: 404,
  code: 'NOT_FOUND',
  error:
    'Not found. The URL of a squid is /<organization>/<name>@<slot>/api/graphql or /<organization>/<name>:<tag>/api/graphql.',
}

/** The URL addresses a version that does not exist. */
export const unknownSquid = (reference: string): GatewayError => ({
  status: 404,
  code: 'SQUID_NOT_FOUND',
  error: `There is no squid ${reference.slice(0, 100)}. It may have been deleted, or the tag moved.`,
})

/** The version has no such program, such as `api` or `Hasura`. */
export const noSuchProgram = (route: Route, program: string): GatewayError => ({
  status: 404,
  code: 'NOT_FOUND',
  error: `${route.name}@${route.slot} has no ${program}.`,
})

/** Returns why a version cannot serve requests; null if it should be running. */
export function unavailableReason(route: Route): GatewayError | null {
  const reference = `${route.name}@${route.slot}`
  if (route.desiredState === 'deleted') return unknownSquid(reference)
  if (route.desiredState === 'hibernated')
    return {
      status: 503,
      code: 'HIBERNATED',
      error: `${reference} is hibernated. Restart it to serve requests.`,
      retryAfterSeconds: 60,
    }
  if (!route.hasRun)
    return {
      status: 503,
      code: 'NOT_DEPLOYED',
      error: `${reference} has not run yet: its first deployment is in progress or has failed.`,
      retryAfterSeconds: 5,
    }
  return null
}

/**
 * Whether the error means that the squid or the gateway failed. A squid that its owner hibernated or has not yet
 * deployed has not failed.
 */
export const isOutage = ({ status, code }: GatewayError): boolean =>
  status >= 500 && code !== 'HIBERNATED' && code !== 'NOT_DEPLOYED'

/** The version should be running, but no program accepted the connection. */
export const notResponding = (route: Route): GatewayError => ({
  status: 503,
  code: 'NOT_ANSWERING',
  error: `${route.name}@${route.slot} is not responding: it is starting or has crashed. See its logs.`,
  retryAfterSeconds: 5,
})

/** Very many requests wait for the program. */
export const overloaded = (route: Route): GatewayError => ({
  status: 503,
  code: 'OVERLOADED',
  error: `${route.name}@${route.slot} has not responded to very many requests yet. Try again in a few seconds.`,
  retryAfterSeconds: 5,
})

/** Callers have not finished to send the bodies of very many requests to the program. */
export const tooManyBodies = (route: Route): GatewayError => ({
  status: 429,
  code: 'TOO_MANY_UPLOADS',
  error: `${route.name}@${route.slot} is receiving very many request bodies. Try again when some of them have arrived.`,
  retryAfterSeconds: 5,
})

/** The program closed the connection after it may have received the request. */
export const connectionClosed = (route: Route): GatewayError => ({
  status: 502,
  code: 'BROKEN_OFF',
  error: `${route.name}@${route.slot} closed the connection before it responded.`,
})

/** The squids of the organization have the maximum number of WebSockets at this gateway. */
export const tooManySockets = (route: Route, max: number): GatewayError => ({
  status: 429,
  code: 'TOO_MANY_CONNECTIONS',
  error: `The squids of ${route.org} have ${max} WebSocket connections, the maximum. Close those that are not needed.`,
})

/** Only counted: the caller no longer receives a response. */
export const callerDisconnected: GatewayError = {
  status: 499,
  code: 'CALLER_DISCONNECTED',
  error: 'The caller disconnected.',
}

/** The program accepted the request, but sent no response in time. */
export const timedOut = (route: Route): GatewayError => ({
  status: 504,
  code: 'TIMED_OUT',
  error: `${route.name}@${route.slot} did not respond in time.`,
})

/** Returns the error as the JSON body of its response. */
export const bodyOf = ({ error, code }: GatewayError): string => JSON.stringify({ error, code })

/** Sends the error as JSON. Returns the length of its body in bytes. */
export function sendGatewayError(res: ServerResponse, error: GatewayError, headers: readonly string[] = []): number {
  const body = Buffer.from(bodyOf(error))
  res.writeHead(error.status, [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(body.length),
    'cache-control',
    'no-store',
    ...(error.retryAfterSeconds ? ['retry-after', String(error.retryAfterSeconds)] : []),
    ...(headers.includes('access-control-allow-origin') ? headers : [...headers, 'access-control-allow-origin', '*']),
  ])
  res.end(body)
  return body.length
}
