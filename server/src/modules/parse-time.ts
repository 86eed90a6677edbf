import { invalidField } from '../errors.ts'

/** Parses the time of a query parameter, in milliseconds since 1970; without a zone it is UTC. @throws Refusal 400 naming the parameter */
export function parseTime(parameter: string, text: string): number {
  const hasZone = /(Z|[+-]\d{2}:?\d{2})$/i.test(text) || !text.includes('T')
  const ms = Date.parse(hasZone ? text : `${text}Z`)
  if (Number.isNaN(ms)) throw invalidField(parameter, 'Must be an ISO time')
  return ms
}
