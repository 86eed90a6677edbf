import type { ReactNode } from 'react'
import { emptyValue } from '../../lib/format.ts'
import { RelativeTime } from '../RelativeTime.tsx'
import type { Column } from './columns.ts'

/** The options of a column other than its header and content. By default its `id` is its header; set `id` if a URL or a test refers to it. */
type Options<T> = Partial<Omit<Column<T>, 'header' | 'cell'>>

const column = <T,>(header: string, cell: Column<T>['cell'], options: Options<T>): Column<T> => ({
  id: header,
  header,
  cell,
  ...options,
})

const muted = (text: string) => <span className="text-ink-3">{text}</span>

/** A column of names, on up to two lines, with the full name as a tooltip. */
export const nameColumn = <T,>(header: string, nameOf: (row: T) => string, options: Options<T> = {}): Column<T> =>
  column(
    header,
    (row) => (
      <span className="my-2 line-clamp-2 font-medium wrap-anywhere whitespace-normal" title={nameOf(row)}>
        {nameOf(row)}
      </span>
    ),
    options,
  )

/** A column of texts on one line; null is shown as `none`. */
export const textColumn = <T,>(
  header: string,
  textOf: (row: T) => string | null,
  { none = emptyValue, ...options }: Options<T> & { none?: string } = {},
): Column<T> => column(header, (row) => textOf(row) ?? muted(none), options)

/** A column of identifiers in monospace; null is shown as an empty value. */
export const codeColumn = <T,>(
  header: string,
  codeOf: (row: T) => string | null,
  options: Options<T> = {},
): Column<T> =>
  column(
    header,
    (row) => {
      const code = codeOf(row)
      return code === null ? muted(emptyValue) : <code>{code}</code>
    },
    options,
  )

/** A column of times, relative to now; null is shown as `none`. */
export const timeColumn = <T,>(
  header: string,
  timeOf: (row: T) => string | null,
  { none = emptyValue, width = '120px', ...options }: Options<T> & { none?: string } = {},
): Column<T> =>
  column(
    header,
    (row) => {
      const at = timeOf(row)
      return at === null ? muted(none) : <RelativeTime at={at} />
    },
    { width, ...options },
  )

/** A column of numbers or amounts, aligned to the right. */
export const numberColumn = <T,>(header: string, valueOf: (row: T) => ReactNode, options: Options<T> = {}): Column<T> =>
  column(header, valueOf, { isNumber: true, ...options })
