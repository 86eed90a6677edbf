import { ApiError, unknownApiError } from '@shoal/contract'

const noResponseText = 'Unknown error, please, try once again or choose another method.'

/** The server's message, or the default one if it sent none (spec 8). */
export function errorText(error: unknown): string {
  return error instanceof ApiError ? error.message : unknownApiError
}

/** To quote to support; null when no answer came. */
export function requestIdOf(error: unknown): string | null {
  return error instanceof ApiError ? (error.body.requestId ?? null) : null
}

/** Messages that belong to fields of a form, by name; empty when the error is about something else. */
export function fieldErrors(error: unknown): Record<string, string> {
  const invalid = error instanceof ApiError ? (error.body.invalidFields ?? []) : []
  return Object.fromEntries(invalid.map(({ path, message }) => [path.join('.'), message]))
}

export const hasStatus = (error: unknown, status: number): boolean =>
  error instanceof ApiError && error.status === status

/** Spec 8, for signing in and secrets: the server's message, or another one when the request got no response. */
export const submitErrorText = (error: unknown): string =>
  error instanceof ApiError ? errorText(error) : noResponseText
