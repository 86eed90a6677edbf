import { LazyBoundary } from '../lib/lazy.tsx'
import { closeDialog, useOpenedDialog } from './open-dialog.ts'

/** Renders the dialog that `openDialog` has opened. */
export function DialogHost() {
  const render = useOpenedDialog()
  return (
    <LazyBoundary what="The dialog" onFailed={closeDialog}>
      {render?.(closeDialog)}
    </LazyBoundary>
  )
}
