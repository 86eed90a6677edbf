import { Refusal } from '../errors.ts'

/** A value of an input and the way to it; paths are put together only when one is told, since a deep input has long ones. */
type Place = { value: unknown; key: string; parent: Place | null }

/**
 * Refuses text that Postgres cannot keep, wherever it stands in an input: in a value, in a list, or as the name of a field.
 * @throws Refusal 400 with the place of the first one found
 */
export function refuseUnstorable(input: unknown): void {
  // A list instead of recursion, since a body of a megabyte can be nested deeper than the stack is.
  const open: Place[] = [{ value: input, key: '', parent: null }]
  for (let place = open.pop(); place; place = open.pop()) {
    const { value } = place
    if (typeof value === 'string') refuseText(place, value)
    if (typeof value !== 'object' || value === null) continue
    for (const [key, inner] of Object.entries(value)) {
      refuseText(place, key)
      open.push({ value: inner, key, parent: place })
    }
  }
}

function refuseText(place: Place, text: string): void {
  const message = text.includes('\0')
    ? 'The text must not contain the character NUL.'
    : text.isWellFormed()
      ? null
      : 'The text is not valid Unicode.'
  if (message) throw new Refusal(400, 'INVALID', message, [{ path: pathOf(place), message, type: 'invalid_text' }])
}

function pathOf(place: Place): string[] {
  const path: string[] = []
  for (let one = place; one.parent; one = one.parent) path.unshift(one.key)
  return path
}
