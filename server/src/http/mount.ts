import { endpointsOf, type Areas, type Endpoint, type ErrorBody } from '@shoal/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { App } from '../app.ts'
import { withLongRequestTimeouts, withRequestTimeouts } from '../db/query-timeouts.ts'
import { isUnavailable } from '../db/unavailable.ts'
import { Refusal } from '../errors.ts'
import type { AuditNote, FileAnswer } from '../modules/call.ts'
import { admit } from './admit.ts'
import { writeAudit } from './audit.ts'
import { linesOf } from './lines.ts'
import { requestOf } from './request.ts'
import { refuseUnstorable } from './unstorable.ts'

type AnyHandler = (call: Record<string, unknown>) => Promise<unknown>

/** Mounts every endpoint of the contract below `/api`; the types of `handlers` were checked where they were put together. */
export function mount(
  server: FastifyInstance,
  app: App,
  areas: Areas,
  handlers: Record<string, Record<string, unknown>>,
): void {
  for (const [name, endpoint] of endpointsOf(areas)) {
    const [area = '', verb = ''] = name.split('.')
    const handler = handlers[area]?.[verb] as AnyHandler | undefined
    if (!handler) throw new Error(`No handler for ${name}`)
    server.route({
      method: endpoint.method,
      url: `/api${endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      handler: (request, reply) => {
        const patiently = endpoint.kind === 'json' ? withRequestTimeouts : withLongRequestTimeouts
        return patiently(() => answer(app, name, endpoint, handler, request, reply))
      },
    })
  }
}

/**
 * Endpoints that wait for a provider, a person's upload or a receiver, or that count wrong passwords although they refuse: their
 * handlers say by `request.inTransaction` what is written with the audit row.
 */
const severalTransactions = new Set([
  'auth.signUp',
  'auth.signIn',
  'auth.signInWithOauth',
  'billing.addPaymentMethod',
  'billing.makeDefaultPaymentMethod',
  'billing.removePaymentMethod',
  'billing.pay',
  'alerts.testChannel',
  'alerts.replayDelivery',
  'deployments.upload',
])

/** Links of mails change something although they are GET. */
const changingLinks = new Set(['auth.confirmEmail', 'orgs.verifyEmail'])

async function answer(
  app: App,
  name: string,
  e: Endpoint,
  handler: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  // Answers hold tokens and what only this caller may see.
  reply.header('cache-control', 'no-store')
  const params = parse(e.params, request.params)
  const admission = await admit(app, name, e, request)
  let note: AuditNote | null = null
  let isAudited = false
  const audited = async <T>(work: () => Promise<T>): Promise<T> => {
    const result = await work()
    if ((e.isChange || note) && !isAudited) {
      await writeAudit(app, { name, call, note })
      isAudited = true
    }
    return result
  }
  const inTransaction = <T>(work: () => Promise<T>): Promise<T> => app.db.transaction(() => audited(work))
  const call = {
    params,
    query: parse(e.query, request.query),
    body: parse(e.body, bodyOf(e, request.body)),
    request: requestOf(app, request, reply, { audit: (n) => void (note = n), inTransaction }),
    ...admission,
    ...(e.kind === 'upload' ? { file: await uploadedFile(request) } : {}),
  }
  const isOneTransaction = (e.isChange && !severalTransactions.has(name)) || changingLinks.has(name)
  const result = await (isOneTransaction ? inTransaction : audited)(() => handler(call))
  if (e.kind === 'file') return sendFile(reply, result as FileAnswer)
  if (e.kind === 'lines') return sendLines(app, reply, e, result as AsyncIterable<unknown[]>)
  return reply.code(e.status).send({ payload: e.payload.parse(result) })
}

/** @throws Refusal 400 naming every wrong field, as the public client prints them (contract 2.1) */
function parse(schema: z.ZodType, value: unknown): unknown {
  refuseUnstorable(value)
  const parsed = schema.safeParse(value, { error: requiredByName })
  if (parsed.success) return parsed.data
  const invalidFields = parsed.error.issues.map((i) => ({
    path: [...i.path, ...(i.code === 'unrecognized_keys' ? i.keys : [])].map(String),
    message: i.message,
    type: i.code,
  }))
  const [first] = invalidFields
  throw new Refusal(400, 'INVALID', first ? first.message : 'Invalid request', invalidFields)
}

/** For fields that the contract has no sentence of their own for. */
const requiredByName: z.core.$ZodErrorMap = ({ input, path }) =>
  input === undefined && path && path.length > 0 ? `${path.join('.')} is required` : undefined

/** An empty body is none where none is allowed, and an object without fields otherwise, so that every missing field is named. */
function bodyOf(e: Endpoint, body: unknown): unknown {
  if (e.kind === 'upload' || e.body instanceof z.ZodUndefined) return undefined
  const isEmpty = body === undefined || body === null || body === '' || Object.keys(body).length === 0
  if (!isEmpty) return body
  return e.body.safeParse(undefined).success ? undefined : {}
}

async function uploadedFile(request: FastifyRequest): Promise<Readable> {
  const part = request.isMultipart() ? await request.file() : undefined
  if (!part) throw new Refusal(400, 'INVALID', 'Send the archive as a multipart part named "file".')
  return part.file
}

function sendFile(reply: FastifyReply, answer: FileAnswer) {
  if ('redirect' in answer) return reply.redirect(answer.redirect, 302)
  if (answer.fileName)
    reply.header('content-disposition', `attachment; filename="${answer.fileName.replaceAll(/[^\w.@-]/g, '_')}"`)
  return reply
    .headers(answer.headers ?? {})
    .type(answer.contentType)
    .send(answer.body)
}

function sendLines(app: App, reply: FastifyReply, e: Endpoint, batches: AsyncIterable<unknown[]>) {
  const lines = linesOf(batches, (item) => e.payload.parse(item), app.draining)
  return reply.header('x-accel-buffering', 'no').type('application/x-ndjson').send(Readable.from(lines))
}

const databaseAway = 'The database of Shoal does not answer. Squids keep running. Please try again in a moment.'
/** Seconds, as the console waits before it asks again. */
export const retryAfterSeconds = 15

/** What is told of an error: a refusal's own words, that the database is away, and for everything else only a request id. */
export function errorBody(error: unknown, requestId: string): { status: number; body: ErrorBody } {
  if (error instanceof Refusal) return { status: error.status, body: { ...error.body, requestId } }
  if (isUnavailable(error))
    return { status: 503, body: { error: databaseAway, code: 'DATABASE_UNAVAILABLE', requestId } }
  const status =
    error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500
  if (status === 413) return { status: 405, body: { error: 'The request is too large.', code: 'TOO_LARGE', requestId } }
  if (status < 500 && error instanceof Error)
    return { status, body: { error: error.message, code: 'INVALID', requestId } }
  return {
    status: 500,
    body: { error: `Something failed on our side. The request id is ${requestId}.`, code: 'UNEXPECTED', requestId },
  }
}
