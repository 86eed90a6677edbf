import type { ErrorBody } from '@shoal/contract'

/** An expected refusal: it has a status and a sentence for the person who asked. Anything else thrown is a 500 and is logged. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  readonly body: ErrorBody
  /** Of a 429. */
  retryAfterMs: number | null = null
  constructor(status: number, code: string, message: string, invalidFields?: ErrorBody['invalidFields']) {
    super(message)
    this.status = status
    this.body = { error: message, code, ...(invalidFields ? { invalidFields } : {}) }
  }
}

/** What does not exist, or what the caller may not see: the two are not told apart (design 7). */
export const notFound = (what: string): Refusal => new Refusal(404, 'NOT_FOUND', `${what} not found`)

/** What a member may not do, or what cannot be done now. The public client prints a 405 well (contract 2.1). */
export const refuse = (code: string, message: string): Refusal => new Refusal(405, code, message)

/** An input that is wrong on one field. */
export const invalidField = (field: string, message: string): Refusal =>
  new Refusal(400, 'INVALID', message, [{ path: field.split('.'), message }])

export const invalid = (code: string, message: string): Refusal => new Refusal(400, code, message)

export const unauthorized = (): Refusal => new Refusal(401, 'CREDENTIALS_INVALID', 'CREDENTIALS_INVALID')

export function tooMany(retryAfterMs: number, advice = 'and try again'): Refusal {
  const message = `Too many tries. Please wait ${waitText(retryAfterMs)} ${advice}.`
  return Object.assign(new Refusal(429, 'TOO_MANY_REQUESTS', message), { retryAfterMs })
}

const waitText = (ms: number) => (ms > 90_000 ? `${Math.ceil(ms / 60_000)} minutes` : `${Math.ceil(ms / 1000)} seconds`)
