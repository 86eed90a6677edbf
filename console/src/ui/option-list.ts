/** Looks shared by everything that opens a list of options: Select, MultiSelect, ComboBox and Menu. */
export type Option<Id extends string = string> = { id: Id; label: string; description?: string; isDisabled?: boolean }

export const popoverClass =
  'overlay-motion min-w-(--trigger-width) max-w-96 overflow-auto rounded-lg border border-line bg-canvas p-1 shadow-overlay outline-none'

export const itemClass =
  'group flex min-h-8 cursor-pointer items-center gap-2.5 rounded-sm px-2 py-1 outline-none select-none data-focused:bg-muted data-focus-visible:bg-muted data-hovered:bg-muted data-disabled:cursor-default data-disabled:text-ink-3 data-focus-visible:outline-none'

export const triggerClass =
  'flex h-8 w-full items-center gap-2 rounded-md border border-control bg-canvas pr-2 pl-2.5 text-left transition-colors hover:border-ink-3 data-disabled:border-line data-disabled:bg-subtle data-disabled:text-ink-3'
