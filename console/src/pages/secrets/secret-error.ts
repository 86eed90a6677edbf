import { ApiError } from '@shoal/contract'
import { errorText, tryAnotherMethod } from '../../api/error-text.ts'

/** Spec 8: the server's words, others when no answer came. */
export const secretErrorText = (error: unknown): string =>
  error instanceof ApiError ? errorText(error) : tryAnotherMethod
