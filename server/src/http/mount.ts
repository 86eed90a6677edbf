import { endpointsOf, isForOperators, type Areas, type Endpoint, type ErrorBody } from '@shoal/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { addressBlock } from '../address-block.ts'
import type { App } from '../app.ts'
import { setQueryOwner, withLongRequestTimeouts, withRequestTimeouts } from '../db/query-timeouts.ts'
import { isTooManyQueries, isUnavailable } from '../db/unavailable.ts'
import { Refusal } from '../errors.ts'
import { recordAudit } from '../modules/audit/index.ts'
import type { Actor, AuditEntry, FileResponse, OrgScope, Request } from '../modules/call.ts'
import { admit, isStillAdmitted, readmit } from './admit.ts'
import { streamLines } from './lines.ts'
import { requestOf } from './request.ts'
import { ResponseLimits, streamBytes, type ResponseLimitOptions } from './response-limits.ts'
import { sendJson } from './send-json.ts'
import { tooManyConcurrent } from './too-many-concurrent.ts'
import { rejectUnstorable } from './unstorable.ts'

type AnyHandler = (call: Record<string, unknown>) => Promise<unknown>

/** Mounts every endpoint of the contract below `/api`. The caller must have checked the types of `handlers`. */
export function mount(
  server: FastifyInstance,
  app: App,
  areas: Areas,
  handlers: Record<string, Record<string, unknown>>,
  limitOptions?: ResponseLimitOptions,
): void {
  const limits = new ResponseLimits(limitOptions)
  for (const [name, endpoint] of endpointsOf(areas)) {
    const [area = '', shortName = ''] = name.split('.')
    const handler = handlers[area]?.[shortName] as AnyHandler | undefined
    if (!handler) throw new Error(`No handler for ${name}`)
    server.route({
      method: endpoint.method,
      url: `/api${endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
      // An error about the body would reveal that the endpoint exists.
      ...(isForOperators(endpoint) && {
        onRequest: async (request: FastifyRequest) => {
          await withRequestTimeouts(() => admit(app, name, endpoint, request))
        },
      }),
      handler: (request, reply) => {
        const withTimeouts = endpoint.kind === 'json' ? withRequestTimeouts : withLongRequestTimeouts
        return withTimeouts(() => respond(app, { name, endpoint, handler, limits }, request, reply))
      },
    })
  }
}

/**
 * Endpoints that wait for a payment provider, an upload, a disk or a webhook receiver, or that record failed sign-ins. Their handlers use
 * `request.inTransaction` for writes that must be atomic with the audit row.
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
  'deployments.createUpload',
  'deployments.upload',
  'squids.deploy',
])

async function respond(
  app: App,
  {
    name,
    endpoint,
    handler,
    limits,
  }: { name: string; endpoint: Endpoint; handler: AnyHandler; limits: ResponseLimits },
  request: FastifyRequest,
  reply: FastifyReply,
) {
  // Responses contain tokens and data that only this caller may see.
  reply.header('cache-control', 'no-store')
  // Input is parsed after admission: only callers who may call the endpoint learn from its errors which input it takes.
  const admission = await (isForOperators(endpoint) ? readmit : admit)(app, name, endpoint, request)
  const owner = ownerOf(admission, request)
  setQueryOwner(owner)
  if (endpoint.kind === 'lines' && admission.actor) limits.countLineStream(reply, admission.actor.userId, owner)
  const params = parse(endpoint.params, request.params)
  let auditEntry: AuditEntry | null = null
  const followUps: (() => void)[] = []
  let isAudited = false
  const withAudit = async <T>(work: () => Promise<T>): Promise<T> => {
    const result = await work()
    if ((endpoint.isChange || auditEntry) && !isAudited) {
      await writeAudit(app, { name, call, auditEntry })
      isAudited = true
    }
    return result
  }
  const inTransaction = <T>(work: () => Promise<T>): Promise<T> => app.db.transaction(() => withAudit(work))
  const call = {
    params,
    query: parse(endpoint.query, request.query),
    body: parse(endpoint.body, bodyOf(endpoint, request.body)),
    request: requestOf(app, request, reply, {
      audit: (entry) => void (auditEntry = entry),
      inTransaction,
      afterCommit: (work) => void followUps.push(work),
    }),
    ...admission,
    ...(endpoint.kind === 'upload' ? { file: await readUploadedFile(request) } : {}),
  }
  const isOneTransaction = endpoint.isChange && !manualTransactions.has(name)
  const result = await (isOneTransaction ? inTransaction : withAudit)(() => handler(call)).finally(() => {
    if (endpoint.kind === 'upload') discardRest(request)
  })
  for (const work of followUps) work()
  if (endpoint.kind === 'file') return sendFile(reply, result as FileResponse, { limits, owner })
  if (endpoint.kind === 'lines') {
    const isAdmitted = () => isStillAdmitted(app, name, endpoint, request)
    const lines = linesOf(app, { endpoint, isAdmitted }, result as AsyncIterable<unknown[]>)
    reply.header('x-accel-buffering', 'no').type('application/x-ndjson')
    return limits.sendStream(reply, owner, lines, streamBytes.lines)
  }
  return sendJson(endpoint, request, reply, result, (body) => limits.sendBody(reply, owner, body))
}

/** Returns the key under which a request shares limits: its organization; its user if there is none, or for support; otherwise its address. */
function ownerOf({ org, actor }: { org?: OrgScope; actor?: Actor }, { ip }: FastifyRequest): string {
  if (org && actor?.support?.orgId !== org.id) return `org:${org.id}`
  return actor ? `user:${actor.userId}` : `address:${addressBlock(ip)}`
}

type AuditedCall = {
  name: string
  call: { request: Request; params: unknown; actor?: Actor; org?: OrgScope }
  auditEntry: AuditEntry | null
}

/**
 * Records a change. Called for every change that succeeded, and for reads whose handler changed something (links in emails).
 * The request body is never recorded: handlers describe the change, without secrets.
 */
async function writeAudit(app: App, { name, call, auditEntry }: AuditedCall): Promise<void> {
  const change = {
    at: app.clock.now(),
    action: name,
    userId: call.actor?.userId ?? auditEntry?.userId ?? null,
    sessionId: call.actor?.sessionId ?? null,
    apiTokenId: call.actor?.apiTokenId ?? null,
    ip: call.request.ip,
    requestId: call.request.id,
    subject: auditEntry?.subject ?? null,
    params: call.params,
    before: auditEntry?.before ?? null,
    after: auditEntry?.after ?? null,
  }
  const orgIds = call.org ? [call.org.id] : (auditEntry?.orgIds ?? [])
  // A change that concerns no organization is recorded, too.
  for (const orgId of orgIds.length > 0 ? orgIds : [null]) await recordAudit(app.db, { ...change, orgId })
}

/** Parses input with the schema of an endpoint. @throws Refusal 400 with every invalid field, in the form that the public client prints */
function parse(schema: z.ZodType, value: unknown): unknown {
  rejectUnstorable(value)
  const parsed = schema.safeParse(value, { error: missingFieldMessage })
  if (parsed.success) return parsed.data
  const invalidFields = parsed.error.issues.map((i) => ({
    path: [...i.path, ...(i.code === 'unrecognized_keys' ? i.keys : [])].map(String),
    message: i.message,
    type: i.code,
  }))
  const [first] = invalidFields
  throw new Refusal(400, 'INVALID', first ? first.message : 'Invalid request', invalidFields)
}

/** The message for a missing field that has no message in the contract. */
const missingFieldMessage: z.core.$ZodErrorMap = ({ input, path }) =>
  input === undefined && path && path.length > 0 ? `${path.join('.')} is required` : undefined

/** Treats an empty body as undefined if the endpoint allows that, and otherwise as `{}`, so that the error names all missing fields. */
function bodyOf(endpoint: Endpoint, body: unknown): unknown {
  if (endpoint.kind === 'upload' || endpoint.body instanceof z.ZodUndefined) return undefined
  const isEmpty = body === undefined || body === null || body === '' || Object.keys(body).length === 0
  if (!isEmpty) return body
  return endpoint.body.safeParse(undefined).success ? undefined : {}
}

async function readUploadedFile(request: FastifyRequest): Promise<Readable> {
  // The parser throws if the header is invalid, for example if it has no boundary.
  const part = request.isMultipart() ? await request.file().catch(() => undefined) : undefined
  if (!part) throw new Refusal(400, 'INVALID', 'Send the archive as a multipart part named "file".')
  return part.file
}

/** Discards the rest of the body that a handler did not read, for example because it refused an upload. Until then, the connection cannot serve another request. */
function discardRest({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}

function sendFile(
  reply: FastifyReply,
  file: FileResponse,
  { limits, owner }: { limits: ResponseLimits; owner: string },
) {
  if ('redirect' in file) return reply.redirect(file.redirect, 302)
  if (file.fileName)
    reply.header('content-disposition', `attachment; filename="${file.fileName.replaceAll(/[^\w.@-]/g, '_')}"`)
  reply.headers(file.headers ?? {}).type(file.contentType)
  return file.body instanceof Readable
    ? limits.sendStream(reply, owner, file.body, streamBytes.file)
    : limits.sendBody(reply, owner, file.body)
}

function linesOf(
  app: App,
  { endpoint, isAdmitted }: { endpoint: Endpoint; isAdmitted: () => Promise<boolean> },
  batches: AsyncIterable<unknown[]>,
): Readable {
  const caller = { clock: app.clock, isAdmitted }
  return Readable.from(streamLines(batches, (item) => endpoint.payload.parse(item), caller, app.draining))
}

const databaseUnavailable = "Shoal's database is not responding. Squids keep running. Please try again in a moment."
/** The interval, in seconds, at which the console retries. */
export const retryAfterSeconds = 15

/** Returns the response to an error: the message of a Refusal or of an invalid request, "database unavailable", or only a request id for unexpected errors. */
export function errorBody(error: unknown, requestId: string): { status: number; body: ErrorBody } {
  if (error instanceof Refusal) return { status: error.status, body: { ...error.body, requestId } }
  if (isUnavailable(error))
    return { status: 503, body: { error: databaseUnavailable, code: 'DATABASE_UNAVAILABLE', requestId } }
  if (isTooManyQueries(error)) return errorBody(tooManyConcurrent(), requestId)
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
