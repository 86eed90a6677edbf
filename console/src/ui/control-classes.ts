/** Classes of a table, for `DataTable` and for small static tables. */
export const tableClass = 'w-full border-collapse'
export const thClass = 'h-8.5 border-b border-line px-3 text-left text-xs font-medium whitespace-nowrap text-ink-3'
export const tdClass = 'h-10 border-b border-line px-3 in-[tbody>tr:last-child]:border-b-0'
export const numberClass = 'tabular text-right'

/** Classes of tabs, for `Tabs` and `NavTabs`. */
export const tabListClass = 'flex gap-5.5 overflow-x-auto max-xxs:gap-3 overflow-y-hidden border-b border-line'
export const tabClass =
  'shrink-0 cursor-pointer border-b-2 border-transparent py-2 whitespace-nowrap text-ink-2 transition-colors outline-offset-[-2px]! hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink data-selected:border-accent data-selected:font-medium data-selected:text-ink data-disabled:cursor-default data-disabled:text-ink-3 aria-disabled:cursor-default aria-disabled:text-ink-3 aria-disabled:hover:text-ink-3'

/** An option of Select and MultiSelect. */
export type Option<Id extends string = string> = { id: Id; label: string; description?: string; isDisabled?: boolean }

/** Classes of the popover of a menu or select. */
export const popoverClass =
  'overlay-motion min-w-(--trigger-width) max-w-96 overflow-auto rounded-lg border border-line bg-canvas p-1 shadow-overlay outline-none'

/** Classes of an item of a menu, a select or the command palette. */
export const itemClass =
  'group flex min-h-8 cursor-pointer items-center gap-2.5 rounded-sm px-2 py-1 outline-none select-none data-focused:bg-muted data-focus-visible:bg-muted data-hovered:bg-muted data-disabled:cursor-default data-disabled:text-ink-3 data-focus-visible:outline-none'

/** Classes of the button that opens a select. */
export const triggerClass =
  'flex h-8 w-full items-center gap-2 rounded-md border border-control bg-canvas pr-2 pl-2.5 text-left transition-colors hover:border-ink-3 data-disabled:border-line data-disabled:bg-subtle data-disabled:text-ink-3'
