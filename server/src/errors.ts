import type { ErrorBody } from '@shoal/contract'

/** An expected error, with an HTTP status and a message for the user. Any other error is logged and becomes a 500. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly body: ErrorBody
  /** The time to wait, only for status 429. */
  retryAfterMs: number | null = null
  constructor(status: number, code: string, message: string, invalidFields?: ErrorBody['invalidFields']) {
    super(message)
    this.status = status
    this.body = { error: message, code, ...(invalidFields ? { invalidFields } : {}) }
  }
}

/** The error for a resource that does not exist or that the caller may not see. The response must not reveal which of the two. */
export const notFound = (what: string): Refusal => new Refusal(404, 'NOT_FOUND', `${what} not found`)

/** The error for an action that a member may not perform, or that is currently impossible: 405, because the public client prints its message. */
export const refuse = (code: string, message: string): Refusal => new Refusal(405, code, message)

/** The error for an invalid field of the input, such as `options.name`. */
export const invalidField = (field: string, message: string): Refusal =>
  new Refusal(400, 'INVALID', message, [{ path: field.split('.'), message }])

export const invalid = (code: string, message: string): Refusal => new Refusal(400, code, message)

export const invalidConfirmationLink = (): Refusal =>
  invalid('LINK_INVALID', 'This confirmation link is no longer valid.')

/** The error for a missing or invalid credential. */
export const unauthorized = (): Refusal => new Refusal(401, 'CREDENTIALS_INVALID', 'CREDENTIALS_INVALID')

/** The error 429 for a caller who may try again after `retryAfterMs`. */
export const tooMany = (code: string, message: string, retryAfterMs: number): Refusal =>
  Object.assign(new Refusal(429, code, message), { retryAfterMs })

/** The error for a caller who exceeded a limit. `advice`: what to do after the wait, or instead of it. */
export function tooManyRequests(retryAfterMs: number, advice = 'and try again'): Refusal {
  const message = `Too many tries. Please wait ${waitText(retryAfterMs)} ${advice}.`
  return tooMany('TOO_MANY_REQUESTS', message, retryAfterMs)
}

const waitText = (ms: number) =>
  ms > 90_000 ? `${Math.ceil(ms / 60_000)} minutes` : ms > 1000 ? `${Math.ceil(ms / 1000)} seconds` : 'one second'
