import { Refusal } from '../errors.ts'

/** A value of the input and its parent. Paths are built only for errors, since the paths of a deep input are long. */
type InputNode = { value: unknown; key: string; parent: InputNode | null }

/**
 * Rejects text that Postgres cannot store, in values, lists and field names at any depth.
 * @throws Refusal 400 with the path of the first such text
 */
export function rejectUnstorable(input: unknown): void {
  // Not recursive, since a body of a megabyte can be nested deeper than the call stack allows.
  const stack: InputNode[] = [{ value: input, key: '', parent: null }]
  for (let node = stack.pop(); node; node = stack.pop()) {
    const { value } = node
    if (typeof value === 'string') rejectUnstorableText(node, value)
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      rejectUnstorableText(node, key)
      stack.push({ value: child, key, parent: node })
    }
  }
}

function rejectUnstorableText(node: InputNode, text: string): void {
  const message = text.includes('\0')
    ? 'The text must not contain the character NUL.'
    : text.isWellFormed()
      ? null
      : 'The text is not valid Unicode.'
  if (message) throw new Refusal(400, 'INVALID', message, [{ path: pathOf(node), message, type: 'invalid_text' }])
}

function pathOf(node: InputNode): string[] {
  const path: string[] = []
  for (let at = node; at.parent; at = at.parent) path.unshift(at.key)
  return path
}
