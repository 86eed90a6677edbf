import { Skeleton, SkeletonRows } from '../../ui/Skeleton.tsx'

/** In the size of the General tab. */
export function VersionSkeleton() {
  return (
    <div role="status" aria-label="Loading">
      <Skeleton className="mb-2 h-4 w-24" />
      <Skeleton className="mb-2 h-6 w-64" />
      <Skeleton className="mb-6 h-4 w-48" />
      <Skeleton className="mb-6 h-8 w-full" />
      <SkeletonRows count={7} rowClass="h-11" />
    </div>
  )
}
