import { lazy, Suspense, useSyncExternalStore } from 'react'
import { connectToasts, isToastWanted, onToastWanted } from '../lib/toasts.ts'

const ToastRegion = lazy(async () => {
  const region = await import('../ui/ToastRegion.tsx')
  connectToasts(region.showToast)
  return region
})

/** The toast region. Its code loads with the first toast. */
export function Toasts() {
  const isWanted = useSyncExternalStore(onToastWanted, isToastWanted)
  if (!isWanted) return null
  return (
    <Suspense>
      <ToastRegion />
    </Suspense>
  )
}
