import { z } from 'zod'

// In a separate file, so that code that only handles errors does not load zod.
export { ApiError, unknownApiError } from './api-error.ts'

/** The body of every unsuccessful response. `error` is for users; the public client prints it. */
export const ErrorBody = z.object({
  error: z.string(),
  /** An identifier for programs, in SCREAMING_SNAKE_CASE. */
  code: z.string().optional(),
  requestId: z.string().optional(),
  invalidFields: z
    .array(z.object({ path: z.array(z.string()), message: z.string(), type: z.string().optional() }))
    .optional(),
})
export type ErrorBody = z.infer<typeof ErrorBody>
