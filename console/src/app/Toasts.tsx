import { connectToasts, useIsToastRegionNeeded } from '../lib/toasts.ts'
import { lazyPart, LazyBoundary } from '../lib/lazy.tsx'

const ToastRegion = lazyPart(async () => {
  const region = await import('../ui/ToastRegion.tsx')
  connectToasts(region.showToast)
  return region
})

/** The toast region. Its code loads with the first toast. */
export function Toasts() {
  const isNeeded = useIsToastRegionNeeded()
  if (!isNeeded) return null
  return (
    <LazyBoundary>
      <ToastRegion />
    </LazyBoundary>
  )
}
