import { z } from 'zod'

// Apart from the schema, so that who only meets errors carries no zod.
export { ApiError, unknownApiError } from './api-error.ts'

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
