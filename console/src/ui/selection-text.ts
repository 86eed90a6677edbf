import type { Option } from './control-classes.ts'

/** The text of a selection: the labels of one or two options, or the number of three or more; `none` if the selection is empty. */
export function selectionText(options: readonly Option[], value: readonly string[], none: string): string {
  const names = options.filter(({ id }) => value.includes(id)).map(({ label }) => label)
  return names.length > 2 ? `${names.length} selected` : names.join(', ') || none
}
