import { cx } from './classes.ts'

/** A placeholder with the size of the loaded content. Appears only after 150 ms. */
export function Skeleton({ className }: { className: string }) {
  return <span aria-hidden className={cx('skeleton block', className)} />
}

// Lines of different widths look like text.
const widths = ['w-2/5', 'w-3/5', 'w-1/2', 'w-2/3', 'w-1/3']

/** Placeholder lines of a table or list. `rowClass` sets the height. */
export function SkeletonRows({ count, rowClass = 'h-10' }: { count: number; rowClass?: string }) {
  return (
    <div role="status" aria-label="Loading" className="divide-y divide-line">
      {Array.from({ length: count }, (_, index) => (
        <div key={index} className={cx('flex items-center px-3', rowClass)}>
          <Skeleton className={cx('h-3', widths[index % widths.length])} />
        </div>
      ))}
    </div>
  )
}
