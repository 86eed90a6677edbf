import { memo, type ReactNode } from 'react'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { cx } from '../../ui/classes.ts'
import { numberClass, tdClass } from '../../ui/control-classes.ts'
import { hideBelowClass, type Column } from './columns.ts'

/** Three dots, as one path, because each row has them. */
const Dots = () => (
  <svg aria-hidden viewBox="0 0 24 24" className="size-4 stroke-current" strokeWidth={4} strokeLinecap="round">
    <path d="M5 12h.01M12 12h.01M19 12h.01" />
  </svg>
)

/** A ref that measures a line of a long table; null if all lines are in the DOM. */
type Measure = ((line: HTMLTableRowElement | null) => void) | null

/** The ref, and the attribute from which the virtualizer reads the index of a line. The head has the row index 1, and the first line 2. */
const measureProps = (measure: Measure, rowIndex: number) => measure && { ref: measure, 'data-index': rowIndex - 2 }

type RowProps<T> = {
  id: string
  /** The name in the label of the menu. */
  name: string
  row: T
  columns: readonly Column<T>[]
  rowIndex: number
  measure: Measure
  isIndented: boolean
  isOpenable: boolean
  hasMenu: boolean
  /** Why the menu is disabled; null if it is enabled. */
  menuDisabledReason: string | null
}

function cellClass<T>(column: Column<T>, isFirst: boolean, isIndented: boolean): string {
  return cx(
    tdClass,
    'truncate',
    column.isNumber && numberClass,
    column.hideBelow && hideBelowClass[column.hideBelow],
    isFirst && isIndented && 'pl-6.5',
  )
}

function Row<T>({
  id,
  name,
  row,
  columns,
  rowIndex,
  measure,
  isIndented,
  isOpenable,
  hasMenu,
  menuDisabledReason,
}: RowProps<T>) {
  return (
    <tr
      {...measureProps(measure, rowIndex)}
      data-row={id}
      aria-rowindex={rowIndex}
      className={cx('hover:bg-subtle', isOpenable && 'cursor-pointer')}
    >
      {columns.map((column, index) => (
        <td key={column.id} className={cellClass(column, index === 0, isIndented)}>
          {column.cell(row)}
        </td>
      ))}
      {hasMenu && (
        <td className={cx(tdClass, 'px-2 text-right')}>
          <button
            type="button"
            data-row-menu
            aria-haspopup="menu"
            aria-label={`Actions for ${name}`}
            {...(menuDisabledReason !== null && {
              'aria-disabled': true,
              'aria-description': menuDisabledReason,
              'data-tip': menuDisabledReason,
            })}
            className="inline-grid size-7 place-items-center rounded-md text-ink-3 not-aria-disabled:hover:bg-muted not-aria-disabled:hover:text-ink aria-disabled:cursor-not-allowed aria-disabled:opacity-50 aria-expanded:bg-muted aria-expanded:text-ink"
          >
            <Dots />
          </button>
        </td>
      )}
    </tr>
  )
}

/** A row, which renders again only when its data, its index or the columns change, so that polls without changes cost nothing. */
export const TableRow = memo(Row) as typeof Row

type GroupProps<T> = {
  rowIndex: number
  measure: Measure
  columns: readonly Column<T>[]
  hasMenu: boolean
  children: ReactNode
}

/** The header of a group. It has one cell per column, because a cell that spans hidden columns would keep their space. */
export function GroupRow<T>({ rowIndex, measure, columns, hasMenu, children }: GroupProps<T>) {
  return (
    <tr {...measureProps(measure, rowIndex)} aria-rowindex={rowIndex} className="bg-subtle">
      <th
        scope="rowgroup"
        className="h-9 overflow-visible border-t border-line px-3 text-left font-medium whitespace-nowrap"
      >
        {children}
      </th>
      {columns.slice(1).map((column) => (
        <td
          key={column.id}
          className={cx('border-t border-line', column.hideBelow && hideBelowClass[column.hideBelow])}
        />
      ))}
      {hasMenu && <td className="border-t border-line" />}
    </tr>
  )
}

/** Skeleton rows, with the height of the loaded ones. */
export function LoadingRows<T>({
  columns,
  count,
  hasMenu,
}: {
  columns: readonly Column<T>[]
  count: number
  hasMenu: boolean
}) {
  return Array.from({ length: count }, (_, rowIndex) => (
    <tr key={rowIndex} aria-hidden>
      {columns.map((column, index) => (
        <td key={column.id} className={cellClass(column, index === 0, false)}>
          <Skeleton className={cx('h-3', column.isNumber ? 'ml-auto w-10' : index === 0 ? 'w-3/5' : 'w-2/5')} />
        </td>
      ))}
      {hasMenu && <td className={tdClass} />}
    </tr>
  ))
}
