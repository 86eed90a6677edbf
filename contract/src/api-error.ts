import type { ErrorBody } from './errors.ts'

/** The exact text of spec 8, including “alter”. */
export const unknownApiError = 'Unknown API error. Please try alter'

/** Thrown by the client for every unsuccessful call. */
export class ApiError extends Error {
  override name = 'ApiError'
  /** HTTP status; 0 if there was no response. */
  readonly status: number
  readonly body: ErrorBody
  constructor(status: number, body: ErrorBody) {
    super(body.error)
    this.status = status
    this.body = body
  }
}
