import { z } from 'zod'

/** The body of every answer that is not a success. `error` is what people read; the public client prints it (contract 2.1). */
export const ErrorBody = z.object({
  error: z.string(),
  /** SCREAMING_SNAKE, for programs. */
  code: z.string().optional(),
  requestId: z.string().optional(),
  invalidFields: z
    .array(z.object({ path: z.array(z.string()), message: z.string(), type: z.string().optional() }))
    .optional(),
})
export type ErrorBody = z.infer<typeof ErrorBody>

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
