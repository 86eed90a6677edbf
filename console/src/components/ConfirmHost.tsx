import { lazy, Suspense } from 'react'
import { useConfirmRequest } from './confirm.ts'

const ConfirmDialog = lazy(() => import('./ConfirmDialog.tsx'))

/** Where `confirm` shows its dialog. The dialog's code comes with the first request. */
export function ConfirmHost() {
  const request = useConfirmRequest()
  if (!request) return null
  return (
    <Suspense>
      <ConfirmDialog key={request.title} request={request} />
    </Suspense>
  )
}
