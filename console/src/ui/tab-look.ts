/** The look of a tab; links between sub-pages wear it too, without what drives the real ones. */
export const tabListClass = 'flex gap-5.5 overflow-x-auto overflow-y-hidden border-b border-line'
export const tabClass =
  'shrink-0 cursor-pointer border-b-2 border-transparent py-2 whitespace-nowrap text-ink-2 transition-colors outline-offset-[-2px]! hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink data-selected:border-accent data-selected:font-medium data-selected:text-ink data-disabled:cursor-default data-disabled:text-ink-3 aria-disabled:cursor-default aria-disabled:text-ink-3 aria-disabled:hover:text-ink-3'
