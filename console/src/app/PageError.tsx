import { useRouter, type ErrorComponentProps } from '@tanstack/react-router'
import { ErrorState } from '../components/ErrorState.tsx'

/** A page that broke: the rest of the console goes on, and it can be tried again. */
export function PageError({ error, reset }: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  const router = useRouter()
  const retry = async () => {
    reset()
    await router.invalidate()
  }
  return <ErrorState what="This page could not be shown" error={error} onRetry={() => void retry()} />
}
