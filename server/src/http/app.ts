import fastifyMultipart from '@fastify/multipart'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import { contract, openApi } from '@shoal/contract'
import Fastify, { LogController, type FastifyBaseLogger, type FastifyInstance, type FastifyReply } from 'fastify'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import type { App } from '../app.ts'
import { Refusal } from '../errors.ts'
import { healthz, readyz, type HealthResponse } from '../health/health.ts'
import { shoalVersion } from '../installation/version.ts'
import { mountConsole } from './console.ts'
import { mountDocumentation } from './documentation.ts'
import { createHandlers } from './handlers.ts'
import { errorBody, mount, retryAfterSeconds } from './mount.ts'
import { mountOutbox } from './outbox.ts'
import { acceptBody, bodyReaders, type ReadBody } from './read-body.ts'
import { apiDocsPolicy, setSecurityHeaders } from './security-headers.ts'
import { mountServerMetrics } from './server-metrics.ts'
import { mountStatusPages } from './status-page.ts'
import { mountStripeEvents } from './stripe-events.ts'

const apiDocument = openApi(contract, shoalVersion())

/** Creates the server of the API and the console, ready to `listen()` or `inject()`. */
export async function createHttpApp(app: App): Promise<FastifyInstance> {
  const loggerInstance: FastifyBaseLogger = app.log.child({ part: 'api' })
  const server = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    // Trust one hop, the operator's proxy: with more, a caller could forge addresses in X-Forwarded-For.
    trustProxy: app.config.SHOAL_TRUST_PROXY ? (_address, hop) => hop === 0 : false,
    genReqId: () => randomUUID(),
    // Longer than any URL that Node accepts: fastify's own error would distinguish endpoints from unknown paths.
    routerOptions: { maxParamLength: 100_000, querystringParser: parseQuery },
    rewriteUrl: (request) => canonicalUrl(request.url ?? '/'),
  })
  server.setErrorHandler((error, request, reply) => {
    const { status, body } = errorBody(error, request.id)
    if (status === 503 || status === 429) reply.header('retry-after', retryAfterSeconds)
    if (status >= 500)
      app.log.error({ err: error, requestId: request.id, url: request.routeOptions.url }, 'request failed')
    if (error instanceof Refusal && error.retryAfterMs !== null)
      reply.header('retry-after', Math.ceil(error.retryAfterMs / 1000))
    return reply.code(status).header('cache-control', 'no-store').send(body)
  })
  const { ofCalls, ofEvents } = bodyReaders(app)
  acceptCalls(server, ofCalls)
  await server.register(fastifyMultipart, {
    limits: { files: 1, fields: 20, fieldSize: 10_000, fileSize: app.config.SHOAL_MAX_UPLOAD_BYTES },
    throwFileSizeLimit: false,
  })
  await setSecurityHeaders(server, app.config)
  mountServerMetrics(server, app)
  await mountStripeEvents(server, app, ofEvents)
  mount(server, app, contract, createHandlers(app))
  mountHealth(server, app)
  mountOutbox(server, app)
  mountStatusPages(server, app)
  await mountApiDocs(server)
  await mountDocumentation(server)
  await mountConsole(server, app)
  return server
}

/** Removes double slashes, and rewrites `/api/x` to `/api/v1/x`: the public client and the specification use both. */
function canonicalUrl(url: string): string {
  const [path = '', query] = url.split(/\?(.*)/s)
  const normalized = path
    .replaceAll(/\/{2,}/g, '/')
    .replace(/^\/api\/(?!v1\/|v1$|openapi\.json$|docs(?:\/|$))/, '/api/v1/')
  return query === undefined ? normalized : `${normalized}?${query}`
}

/** Parses a query string. Lists are written as `a[]=1&a[]=2` or with repeated keys. */
function parseQuery(text: string): Record<string, string | string[]> {
  const parsed: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (const [rawKey, value] of new URLSearchParams(text)) {
    const isList = rawKey.endsWith('[]')
    const key = isList ? rawKey.slice(0, -2) : rawKey
    const previous = parsed[key]
    if (previous === undefined) parsed[key] = isList ? [value] : value
    else if (Array.isArray(previous)) previous.push(value)
    else parsed[key] = [previous, value]
  }
  return parsed
}

/** Accepts bodies of calls; those that are not JSON are rejected later, with the name of what the endpoint needs. */
function acceptCalls(server: FastifyInstance, read: ReadBody): void {
  server.removeAllContentTypeParsers()
  const parse = promisify(server.getDefaultJsonParser('error', 'error'))
  // fastify rejects an empty body with a JSON content type.
  acceptBody(server, 'application/json', read, (text, request) => (text === '' ? undefined : parse(request, text)))
  acceptBody(server, 'text/plain', read, (text) => text)
  acceptEmptyForms(server, read)
}

/**
 * Accepts the empty form that the public client sends with calls without a body. Rejects forms with fields, since any page on the web
 * could send them without a preflight.
 */
export function acceptEmptyForms(server: FastifyInstance, read: ReadBody): void {
  acceptBody(server, 'application/x-www-form-urlencoded', read, (text) => {
    if (text !== '')
      throw new Refusal(415, 'INVALID', 'Send the body as JSON, with the header "content-type: application/json".')
  })
}

/** Serves `/healthz` and `/readyz` on the port of the API. */
function mountHealth(server: FastifyInstance, app: App): void {
  const send = (reply: FastifyReply, { status, type, body }: HealthResponse) =>
    reply.code(status).header('cache-control', 'no-store').type(type).send(body)
  server.get('/healthz', (_, reply) => send(reply, healthz()))
  server.get('/readyz', async (_, reply) => send(reply, await readyz(app)))
}

/** Serves `/api/openapi.json`, and a page to browse it at `/api/docs`. */
async function mountApiDocs(server: FastifyInstance): Promise<void> {
  server.get('/api/openapi.json', (_, reply) => reply.send(apiDocument))
  await server.register(fastifySwagger, { mode: 'static', specification: { document: apiDocument as never } })
  await server.register(fastifySwaggerUi, {
    routePrefix: '/api/docs',
    uiConfig: { deepLinking: true },
    staticCSP: true,
    transformStaticCSP: apiDocsPolicy,
  })
}
