/** The one look of a table. `DataTable` wears it; a small static table may wear it by hand. */
export const tableClass = 'w-full border-collapse'
export const thClass = 'h-8.5 border-b border-line px-3 text-left text-xs font-medium whitespace-nowrap text-ink-3'
export const tdClass = 'h-10 border-b border-line px-3 in-[tbody>tr:last-child]:border-b-0'
export const numberClass = 'tabular text-right'
