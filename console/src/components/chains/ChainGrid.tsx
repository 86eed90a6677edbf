import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Label } from '../../ui/Badge.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { EmptyState } from '../EmptyState.tsx'
import { ChainIcon } from './ChainIcon.tsx'
import { typeLabel, type ChainListItem } from './filter-chains.ts'

const gridClass = 'grid grid-cols-1 gap-3 xs:grid-cols-2 md:grid-cols-3'
const cardClass =
  'flex h-full items-start gap-3 rounded-lg border border-line bg-canvas p-3.5 transition-colors hover:border-edge-strong hover:bg-subtle'

type Props<T extends ChainListItem> = {
  label: string
  items: readonly T[]
  /** The route of the page about an item. */
  to: '/rpc/chains/$id' | '/portal/chains/$id'
  /** Shown at the bottom of the card, such as the number of requests. */
  detailOf?: (item: T) => ReactNode
  /** The search text, for the empty state. */
  search: string
}

/** Cards of chains or datasets, three per row (spec 9). */
export function ChainGrid<T extends ChainListItem>({ label, items, to, detailOf, search }: Props<T>) {
  if (items.length === 0)
    return (
      <EmptyState title={search ? `Nothing found for “${search}”` : 'Nothing found'} text="Try another name or type." />
    )
  return (
    <ul aria-label={label} className={gridClass}>
      {items.map((item) => (
        <li key={item.id} className="min-w-0">
          <Link to={to} params={{ id: item.id }} className={cardClass}>
            <CardContent item={item} detail={detailOf?.(item)} />
          </Link>
        </li>
      ))}
    </ul>
  )
}

function CardContent({ item, detail }: { item: ChainListItem; detail: ReactNode }) {
  return (
    <>
      <ChainIcon title={item.title} iconUrl={item.iconUrl} />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium" title={item.title}>
          {item.title}
        </span>
        <code className="block truncate text-ink-3" title={item.id}>
          {item.id}
        </code>
        <span className="mt-1.5 flex flex-wrap justify-between gap-x-3 text-sm text-ink-2">
          <span className="flex items-center gap-2">
            {typeLabel(item.type)}
            {item.testnet && <Label>TESTNET</Label>}
          </span>
          {detail && <span className="whitespace-nowrap">{detail}</span>}
        </span>
      </span>
    </>
  )
}

/** Placeholder cards with the size of the loaded ones. */
export function ChainGridSkeleton() {
  return (
    <div role="status" aria-label="Loading" className={gridClass}>
      {Array.from({ length: 9 }, (_, index) => (
        <div key={index} className="flex h-24 gap-3 rounded-lg border border-line p-3.5">
          <Skeleton className="size-8 rounded-md" />
          <span className="flex-1">
            <Skeleton className="mt-1 h-3 w-1/2" />
            <Skeleton className="mt-3 h-3 w-1/3" />
          </span>
        </div>
      ))}
    </div>
  )
}
