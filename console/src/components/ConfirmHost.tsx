import { lazy, Suspense } from 'react'
import { useQuestion } from './confirm.ts'

const ConfirmDialog = lazy(() => import('./ConfirmDialog.tsx'))

/** Where `confirm` shows its dialog. The dialog's code comes with the first question. */
export function ConfirmHost() {
  const question = useQuestion()
  if (!question) return null
  return (
    <Suspense>
      <ConfirmDialog key={question.title} question={question} />
    </Suspense>
  )
}
