import { endpointsOf, type Areas, type Endpoint, type ErrorBody } from '@shoal/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { App } from '../app.ts'
import { withLongRequestTimeouts, withRequestTimeouts } from '../db/query-timeouts.ts'
import { isUnavailable } from '../db/unavailable.ts'
import { Refusal } from '../errors.ts'
import { recordAudit } from '../modules/auth/index.ts'
import type { Actor, AuditNote, FileAnswer, OrgScope, Request } from '../modules/call.ts'
import { admit } from './admit.ts'
import { linesOf } from './lines.ts'
import { requestOf } from './request.ts'
import { refuseUnstorable } from './unstorable.ts'

type AnyHandler = (call: Record<string, unknown>) => Promise<unknown>

/** Mounts every endpoint of the contract below `/api`. The caller has checked the types of `handlers`. */
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
        const withTimeouts = endpoint.kind === 'json' ? withRequestTimeouts : withLongRequestTimeouts
        return withTimeouts(() => respond(app, name, endpoint, handler, request, reply))
      },
    })
  }
}

/**
 * Endpoints that wait for a payment provider, an upload or a webhook receiver, or that record failed sign-ins: their handlers use
 * `request.inTransaction` for what is written together with the audit row.
 */
const manualTransactions = new Set([
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

/** Links in mails, which change something although they are GET requests. */
const changingLinks = new Set(['auth.confirmEmail', 'orgs.verifyEmail'])

async function respond(
  app: App,
  name: string,
  e: Endpoint,
  handler: AnyHandler,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  // Responses contain tokens and data that only this caller may see.
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
  const isOneTransaction = (e.isChange && !manualTransactions.has(name)) || changingLinks.has(name)
  const result = await (isOneTransaction ? inTransaction : audited)(() => handler(call))
  if (e.kind === 'file') return sendFile(reply, result as FileAnswer)
  if (e.kind === 'lines') return sendLines(app, reply, e, result as AsyncIterable<unknown[]>)
  return reply.code(e.status).send({ payload: e.payload.parse(result) })
}

type AuditedCall = {
  name: string
  call: { request: Request; params: unknown; actor?: Actor; org?: OrgScope }
  note: AuditNote | null
}

/**
 * Records a change. Called for every change that succeeded, and for reads whose handler changed something (links in mails).
 * The request body is never recorded: handlers describe the change, without secrets.
 */
async function writeAudit(app: App, { name, call, note }: AuditedCall): Promise<void> {
  await recordAudit(app.db, {
    at: app.clock.now(),
    action: name,
    userId: call.actor?.userId ?? note?.userId ?? null,
    sessionId: call.actor?.sessionId ?? null,
    apiTokenId: call.actor?.apiTokenId ?? null,
    orgId: call.org?.id ?? note?.orgId ?? null,
    ip: call.request.ip,
    requestId: call.request.id,
    subject: note?.subject ?? null,
    params: call.params,
    before: note?.before ?? null,
    after: note?.after ?? null,
  })
}

/** @throws Refusal 400 with every invalid field, in the form that the public client prints */
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

/** The message for missing fields without a message in the contract. */
const requiredByName: z.core.$ZodErrorMap = ({ input, path }) =>
  input === undefined && path && path.length > 0 ? `${path.join('.')} is required` : undefined

/** Treats an empty body as undefined if the endpoint allows that, and otherwise as `{}`, so that the error names all missing fields. */
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

function sendFile(reply: FastifyReply, file: FileAnswer) {
  if ('redirect' in file) return reply.redirect(file.redirect, 302)
  if (file.fileName)
    reply.header('content-disposition', `attachment; filename="${file.fileName.replaceAll(/[^\w.@-]/g, '_')}"`)
  return reply
    .headers(file.headers ?? {})
    .type(file.contentType)
    .send(file.body)
}

function sendLines(app: App, reply: FastifyReply, e: Endpoint, batches: AsyncIterable<unknown[]>) {
  const lines = linesOf(batches, (item) => e.payload.parse(item), app.draining)
  return reply.header('x-accel-buffering', 'no').type('application/x-ndjson').send(Readable.from(lines))
}

const databaseUnavailable = 'The database of Shoal does not answer. Squids keep running. Please try again in a moment.'
/** The interval, in seconds, at which the console retries. */
export const retryAfterSeconds = 15

/** The response to an error: the message of a Refusal, "database unavailable", or only a request id for unexpected errors. */
export function errorBody(error: unknown, requestId: string): { status: number; body: ErrorBody } {
  if (error instanceof Refusal) return { status: error.status, body: { ...error.body, requestId } }
  if (isUnavailable(error))
    return { status: 503, body: { error: databaseUnavailable, code: 'DATABASE_UNAVAILABLE', requestId } }
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
