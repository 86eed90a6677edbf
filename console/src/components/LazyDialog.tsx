import { lazy, Suspense, type ComponentProps } from 'react'
import type { Dialog as DialogOfUi } from '../ui/Dialog.tsx'

const Dialog = lazy(async () => ({ default: (await import('../ui/Dialog.tsx')).Dialog }))

/** A dialog whose code loads when it opens: React Aria's overlays are larger than most pages. */
export function LazyDialog(props: ComponentProps<typeof DialogOfUi>) {
  return (
    <Suspense>
      <Dialog {...props} />
    </Suspense>
  )
}
