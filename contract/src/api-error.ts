import type { ErrorBody } from './errors.ts'

/** Spec 8, to the letter. */
export const unknownApiError = 'Unknown API error. Please try alter'

/** What the client throws. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** 0 when no answer came. */
  readonly status: number
  readonly body: ErrorBody
  constructor(status: number, body: ErrorBody) {
    super(body.error)
    this.status = status
    this.body = body
  }
}
