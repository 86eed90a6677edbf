import type { ComponentProps } from 'react'
import type { Dialog as DialogOfUi } from '../ui/Dialog.tsx'
import { lazyPart, LazyBoundary } from '../lib/lazy.tsx'

const Dialog = lazyPart(async () => ({ default: (await import('../ui/Dialog.tsx')).Dialog }))

/** A dialog whose code loads when it opens: React Aria's overlays are larger than most pages. */
export function LazyDialog(props: ComponentProps<typeof DialogOfUi>) {
  return (
    <LazyBoundary what="The dialog" onFailed={props.onClose}>
      <Dialog {...props} />
    </LazyBoundary>
  )
}
