/** Classes of a table, for `DataTable` and for small static tables. */
export const tableClass = 'w-full border-collapse'
const headCellClass = 'h-8.5 border-b border-line text-left text-xs font-medium whitespace-nowrap text-ink-3'
/** The line above each row; the first row shares that of the head. A line below would need a selector for the last row. */
const cellClass = 'border-t border-line'
export const thClass = `${headCellClass} px-3`
export const tdClass = `${cellClass} h-10 px-3`
/** Cells of tables with many numbers. */
export const denseThClass = `${headCellClass} px-2`
export const denseTdClass = `${cellClass} h-8 px-2`
export const numberClass = 'tabular text-right'

/** Classes of the buttons at the end of a dialog: on the right, the primary one last. */
export const dialogFooterClass = 'flex flex-wrap justify-end gap-2'

/** Classes of tabs, for `Tabs` and `NavTabs`. */
export const tabListClass =
  'scroll-shadows flex gap-5.5 overflow-x-auto max-xxs:gap-3 overflow-y-hidden border-b border-line'
export const tabClass =
  'shrink-0 cursor-pointer border-b-2 border-transparent py-2 whitespace-nowrap text-ink-2 transition-colors -outline-offset-2 hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink data-selected:border-accent data-selected:font-medium data-selected:text-ink data-disabled:cursor-default data-disabled:text-ink-3 aria-disabled:cursor-default aria-disabled:text-ink-3 aria-disabled:hover:text-ink-3'

/** An option of Select and MultiSelect. */
export type Option<Id extends string = string> = { id: Id; label: string; description?: string; isDisabled?: boolean }

/** Classes of the popover of a menu or select. */
export const popoverClass =
  'overlay-motion max-w-96 overflow-auto rounded-lg border border-line bg-canvas p-1 shadow-overlay outline-none'

const plainItemClass =
  'group flex min-h-8 cursor-pointer items-center gap-2.5 rounded-sm px-2 py-1 outline-none select-none data-disabled:cursor-default data-disabled:text-ink-3 data-focus-visible:outline-none'
/** Classes of an item of a menu, a select or the command palette. */
export const itemClass = `${plainItemClass} data-focused:bg-muted data-focus-visible:bg-muted data-hovered:bg-muted`
/** Classes of an item that deletes or stops something. */
export const dangerItemClass = `${plainItemClass} text-bad data-focused:bg-bad-soft data-focus-visible:bg-bad-soft data-hovered:bg-bad-soft`

/** Classes of the button that opens a select. */
export const triggerClass =
  'flex h-8 w-full items-center gap-2 rounded-md border bg-canvas pr-2 pl-2.5 text-left transition-colors data-disabled:bg-subtle data-disabled:text-ink-3'
/** Classes of the border of this button, if the selected value is valid. */
export const triggerEdgeClass = 'border-control hover:border-ink-3 data-disabled:border-line'
