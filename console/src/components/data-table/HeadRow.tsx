import { ArrowDown, ArrowUp } from 'lucide-react'
import type { CSSProperties } from 'react'
import { cx } from '../../ui/classes.ts'
import { thClass } from '../../ui/control-classes.ts'
import { hideBelowClass, nextSort, type Column, type Sort } from './columns.ts'

type Props<T> = {
  columns: readonly Column<T>[]
  sort: Sort | null
  onSort: ((sort: Sort) => void) | undefined
  hasMenu: boolean
}

const sortLabels = { asc: 'ascending', desc: 'descending' } as const

/** The row of column headers. The header of a sortable column is a button. */
export function HeadRow<T>({ columns, sort, onSort, hasMenu }: Props<T>) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map((column) => {
          const order = sort?.column === column.id ? sort.order : null
          const canSort = column.sortBy !== undefined && onSort !== undefined
          return (
            <th
              key={column.id}
              scope="col"
              style={
                { '--width': column.width ?? 'auto', '--narrow-width': column.narrowWidth ?? 'auto' } as CSSProperties
              }
              aria-sort={order ? sortLabels[order] : undefined}
              data-tip={column.headerTip}
              className={cx(
                thClass,
                'w-(--narrow-width) sm:w-(--width)',
                column.isNumber && 'text-right',
                column.hideBelow && hideBelowClass[column.hideBelow],
              )}
            >
              {canSort ? (
                <button
                  type="button"
                  onClick={() => onSort(nextSort(sort, column))}
                  className={cx(
                    'group -mx-1 inline-flex items-center gap-1 rounded-sm px-1 hover:text-ink',
                    column.isNumber && 'flex-row-reverse',
                  )}
                >
                  {column.header}
                  <SortArrow order={order} />
                </button>
              ) : (
                column.header
              )}
            </th>
          )
        })}
        {hasMenu && (
          <th scope="col" className={cx(thClass, 'w-12')}>
            <span className="sr-only">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  )
}

function SortArrow({ order }: { order: Sort['order'] | null }) {
  const Arrow = order === 'desc' ? ArrowDown : ArrowUp
  return (
    <Arrow
      size={12}
      aria-hidden
      className={order ? '' : 'opacity-0 group-hover:opacity-60 group-focus-visible:opacity-60'}
    />
  )
}
