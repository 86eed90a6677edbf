import { Skeleton, SkeletonRows } from '../../ui/Skeleton.tsx'

/** The place of a page whose code is on its way: a head, and rows. */
export function PageSkeleton() {
  return (
    <>
      <Skeleton className="mb-2 h-6 w-44" />
      <Skeleton className="mb-6 h-4 w-72" />
      <SkeletonRows count={8} />
    </>
  )
}
