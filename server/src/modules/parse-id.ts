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
