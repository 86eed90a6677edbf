import { ApiError } from '@shoal/contract'
import { errorText, tryAnotherMethod } from '../../api/error-text.ts'

/** Spec 8, sign in: the server's words, others when the network failed. */
export const signInErrorText = (error: unknown): string =>
  error instanceof ApiError ? errorText(error) : tryAnotherMethod
