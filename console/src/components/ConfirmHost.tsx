import { closeConfirm, useConfirmRequest } from './confirm.ts'
import { lazyPart, LazyBoundary } from '../lib/lazy.tsx'

const ConfirmDialog = lazyPart(() => import('./ConfirmDialog.tsx'))

/** Renders the dialog that `confirm` requests. Its code loads with the first request. */
export function ConfirmHost() {
  const request = useConfirmRequest()
  if (!request) return null
  return (
    <LazyBoundary what="The dialog" onFailed={closeConfirm}>
      <ConfirmDialog key={request.title} request={request} />
    </LazyBoundary>
  )
}
