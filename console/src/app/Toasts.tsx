import { lazy, Suspense, useSyncExternalStore } from 'react'
import { connectToasts, isToastWanted, onToastWanted } from '../lib/toasts.ts'

const ToastRegion = lazy(async () => {
  const region = await import('../ui/ToastRegion.tsx')
  connectToasts(region.showToast)
  return region
})

/** The corner of the screen where toasts appear. Its code comes with the first toast. */
export function Toasts() {
  const isWanted = useSyncExternalStore(onToastWanted, isToastWanted)
  if (!isWanted) return null
  return (
    <Suspense>
      <ToastRegion />
    </Suspense>
  )
}
