/**
 * The states of a page's data: `full` and `empty` are organizations with and without data; in `loading`, requests get no response; in
 * `failing`, they get an error.
 */
export const states = ['full', 'empty', 'loading', 'failing'] as const
/** `unavailable`: even the request for the session gets the response of a server without a database. */
export type State = (typeof states)[number] | 'unavailable'
