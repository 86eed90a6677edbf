import { lazy, Suspense } from 'react'
import { useConfirmRequest } from './confirm.ts'

const ConfirmDialog = lazy(() => import('./ConfirmDialog.tsx'))

/** Renders the dialog of `confirm`. Its code loads with the first request. */
export function ConfirmHost() {
  const request = useConfirmRequest()
  if (!request) return null
  return (
    <Suspense>
      <ConfirmDialog key={request.title} request={request} />
    </Suspense>
  )
}
