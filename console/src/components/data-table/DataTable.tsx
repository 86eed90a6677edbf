import { useEffect, useMemo, useRef, type ReactNode } from 'react'
import type { Action } from '../../ui/action.ts'
import { cx } from '../../ui/classes.ts'
import { tableClass } from '../../ui/control-classes.ts'
import { HeadRow } from './HeadRow.tsx'
import { RowMenu, useRowMenu } from './RowMenu.tsx'
import type { Column, Sort } from './columns.ts'
import { itemsOf, sorted } from './items.ts'
import { GroupRow, LoadingRows, TableRow } from './rows.tsx'
import { useVisibleItems } from './use-visible-items.ts'

export type TableProps<T> = {
  /** Accessible name. */
  label: string
  /** Keep the array identical: rows render again only when their data or the columns change. */
  columns: readonly Column<T>[]
  /** Undefined while loading. */
  rows: readonly T[] | undefined
  idOf: (row: T) => string
  /** The name of a row in the label of its menu; by default its id. */
  nameOf?: (row: T) => string
  sort?: Sort | null
  onSort?: (sort: Sort) => void
  /** Groups rows under a header, such as versions under their squid. */
  groupOf?: (row: T) => string
  /** Groups that come first in every sort order. Keep the array identical. */
  firstGroups?: readonly string[]
  renderGroupHead?: (name: string, rows: T[]) => ReactNode
  /** Called when the user clicks a row outside its links and buttons. */
  onOpen?: (row: T) => void
  /** Returns the actions in the menu at the end of a row. Called when the menu opens. */
  actions?: (row: T) => readonly Action[]
  /** Returns why a row's menu is disabled; null if it is enabled. */
  menuDisabledReason?: (row: T) => string | null
  /** Called after each render with the rows that are in the DOM. */
  onVisible?: (rows: T[]) => void
  /** Rendered when there are no rows. */
  empty: ReactNode
  loadingRows?: number
}

/**
 * A table of the given rows; `QueryTable` also loads them. Rows are plain, memoized `<tr>`; the table has one click handler and one menu.
 * If it has 50 lines or more, only the visible ones are in the DOM.
 */
export function DataTable<T>(props: TableProps<T>) {
  const {
    label,
    columns,
    rows,
    idOf,
    nameOf = idOf,
    sort = null,
    onSort,
    groupOf,
    firstGroups,
    renderGroupHead,
    onOpen,
    actions,
    menuDisabledReason,
    onVisible,
    empty,
  } = props
  const items = useMemo(
    () => itemsOf(sorted(rows ?? [], columns, sort), idOf, groupOf, firstGroups),
    [rows, columns, sort, idOf, groupOf, firstGroups],
  )
  const table = useRef<HTMLTableElement>(null)
  const { visible, beforePx, afterPx, measure } = useVisibleItems(items, table)
  useEffect(() => onVisible?.(visible.flatMap(({ item }) => (item.kind === 'row' ? [item.row] : []))))
  const menu = useRowMenu<T>()
  const hasMenu = actions !== undefined

  const rowOf = (target: EventTarget): T | undefined => {
    const id = target instanceof Element ? target.closest<HTMLElement>('[data-row]')?.dataset['row'] : undefined
    const item = items.find((candidate) => candidate.id === id)
    return item?.kind === 'row' ? item.row : undefined
  }
  const onClick = ({ target }: { target: EventTarget }) => {
    const row = rowOf(target)
    if (row === undefined || !(target instanceof Element)) return
    const trigger = target.closest<HTMLElement>('[data-row-menu]')
    if (trigger?.ariaDisabled === 'true') return
    if (trigger) menu.open(row, trigger)
    else if (!target.closest('a, button, input, label') && getSelection()?.isCollapsed !== false) onOpen?.(row)
  }

  if (rows !== undefined && rows.length === 0) return <>{empty}</>
  return (
    <div className="overflow-x-auto rounded-lg border border-line bg-canvas">
      <table
        ref={table}
        aria-label={label}
        aria-rowcount={items.length + 1}
        aria-busy={rows === undefined}
        className={cx(tableClass, 'table-fixed')}
      >
        <HeadRow columns={columns} sort={sort} onSort={onSort} hasMenu={hasMenu} />
        {/* Keyboard users reach a row through the link in its main cell. */}
        {/* oxlint-disable-next-line jsx-a11y/click-events-have-key-events */}
        <tbody
          className="[overflow-anchor:none]"
          onClick={onClick}
          onPointerOver={hasMenu ? menu.prepare : undefined}
          onFocus={hasMenu ? menu.prepare : undefined}
        >
          {rows === undefined && <LoadingRows columns={columns} count={props.loadingRows ?? 6} hasMenu={hasMenu} />}
          {beforePx > 0 && <tr aria-hidden style={{ height: beforePx }} />}
          {visible.map(({ item, index }) =>
            item.kind === 'row' ? (
              <TableRow
                key={item.id}
                measure={measure}
                id={item.id}
                name={hasMenu ? nameOf(item.row) : ''}
                row={item.row}
                columns={columns}
                rowIndex={index + 2}
                isIndented={groupOf !== undefined}
                isOpenable={onOpen !== undefined}
                hasMenu={hasMenu}
                menuDisabledReason={menuDisabledReason?.(item.row) ?? null}
              />
            ) : (
              <GroupRow key={item.id} measure={measure} rowIndex={index + 2} columns={columns} hasMenu={hasMenu}>
                {renderGroupHead?.(item.name, item.rows) ?? item.name}
              </GroupRow>
            ),
          )}
          {afterPx > 0 && <tr aria-hidden style={{ height: afterPx }} />}
        </tbody>
      </table>
      {actions && <RowMenu menu={menu} actions={actions} nameOf={nameOf} />}
    </div>
  )
}
