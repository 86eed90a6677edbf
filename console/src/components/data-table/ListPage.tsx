import type { ComponentProps, ReactNode } from 'react'
import type { EmptyState } from '../EmptyState.tsx'
import { PageHeader } from '../PageHeader.tsx'
import { QueryTable } from './QueryTable.tsx'

type Props<T> = Omit<ComponentProps<typeof QueryTable<T>>, 'label' | 'empty'> & {
  title: string
  /** What the rows are for. */
  context: string
  /** The link or button that creates a row: in the header, or in the text for the empty list. */
  create: ReactNode
  empty: Omit<ComponentProps<typeof EmptyState>, 'action'>
  /** Shown above the list. */
  children?: ReactNode
}

/** A page that consists of one list to which users add rows. */
export function ListPage<T>({ title, context, create, empty, children, ...table }: Props<T>) {
  return (
    <>
      <PageHeader title={title} context={context} actions={table.query.data?.length !== 0 && create} />
      {children}
      <QueryTable {...table} label={title} empty={{ ...empty, action: create }} />
    </>
  )
}
