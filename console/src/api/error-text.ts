import { ApiError, unknownApiError } from '@shoal/contract'

const noResponseText = 'Unknown error, please, try once again or choose another method.'

/** The server's message, or the default one if it sent none (spec 8). */
export function errorText(error: unknown): string {
  return error instanceof ApiError ? error.message : unknownApiError
}

/** The request id to quote to support; null without a response. */
export function requestIdOf(error: unknown): string | null {
  return error instanceof ApiError ? (error.body.requestId ?? null) : null
}

/** Error messages of form fields, by name; empty if the error is not about fields. */
export function fieldErrors(error: unknown): Record<string, string> {
  const invalid = error instanceof ApiError ? (error.body.invalidFields ?? []) : []
  return Object.fromEntries(invalid.map(({ path, message }) => [path.join('.'), message]))
}

/** Whether the server responded with this status. */
export const hasStatus = (error: unknown, status: number): boolean =>
  error instanceof ApiError && error.status === status

/** The text for a failed sign-in or change of a secret (spec 8): the server's message, or a default one if the request got no response. */
export const submitErrorText = (error: unknown): string =>
  error instanceof ApiError ? errorText(error) : noResponseText
