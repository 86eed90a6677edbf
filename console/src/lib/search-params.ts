export type SearchParams = Record<string, string | string[]>

/**
 * Parses the query string: every value is a string, and the values of a repeated key are a list. By default, the router would turn
 * `?code=0123` into a number, but codes, tokens and ids must not change.
 */
export function parseSearch(text: string): SearchParams {
  const params: SearchParams = {}
  for (const [key, value] of new URLSearchParams(text)) {
    const existing = params[key]
    params[key] = existing === undefined ? value : [existing, value].flat()
  }
  return params
}

/** The inverse of parseSearch. Undefined, null and empty strings are omitted. */
export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(search))
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value])
      if (item !== undefined && item !== null && item !== '') params.append(key, String(item))
  const text = params.toString()
  return text ? `?${text}` : ''
}

/** Reads one parameter; undefined if it is missing or invalid. */
type Reader<T> = (value: unknown) => T | undefined

/** A parameter that occurs once. */
export const text: Reader<string> = (value) => (typeof value === 'string' ? value : undefined)
/** A parameter that may be absent or repeated. */
export const list: Reader<string[]> = (value) =>
  typeof value === 'string' ? [value] : Array.isArray(value) ? value.map(String) : undefined
/** `true` or absent. */
export const flag: Reader<'true'> = (value) => (value === 'true' ? value : undefined)
/** One of the given strings. */
export const oneOf =
  <const C extends readonly string[]>(...choices: C): Reader<C[number]> =>
  (value) =>
    choices.find((choice) => choice === value)

type Read<S extends Record<string, Reader<unknown>>> = { [K in keyof S]?: NonNullable<ReturnType<S[K]>> | undefined }

/**
 * Reads and types the query parameters of a route. Unknown keys stay in the URL. Uses plain functions instead of zod:
 * every route needs them, and zod would add 20 KB to the first view.
 */
export function searchOf<S extends Record<string, Reader<unknown>>>(
  readers: S,
): (search: Record<string, unknown>) => Read<S> {
  return (search) =>
    Object.fromEntries(Object.entries(readers).map(([key, read]) => [key, read(search[key])])) as Read<S>
}
