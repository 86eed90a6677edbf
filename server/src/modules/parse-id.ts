import { IdParam } from '@shoal/contract'
import { notFound } from '../errors.ts'

/**
 * Parses the id of a resource in a path.
 * @throws Refusal 404 when `text` is not an id; `what` names the resource in the message
 */
export function parseId(text: string, what: string): number {
  const parsed = IdParam.safeParse(text)
  if (!parsed.success) throw notFound(what)
  return parsed.data
}

/** Whether `text` is a UUID in lower case, as the ids of some resources are. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
