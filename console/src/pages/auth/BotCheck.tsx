import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { authOptionsQuery } from '../../api/session.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { lazyPart } from '../../lib/lazy.tsx'

const Turnstile = lazyPart(() => import('./Turnstile.tsx'))
const Altcha = lazyPart(() => import('./Altcha.tsx'))

export type BotCheckProps = {
  /** Whether the widget always requires a click, for testing it (spec 2.1). */
  isInteractive: boolean
  /** Called with an empty token when the token has expired. */
  onToken: (token: string) => void
}

/** The bot check that the server requires. A new value of `attempt` restarts it. */
export function BotCheck({ attempt, ...props }: BotCheckProps & { attempt: number }) {
  const options = useQuery(authOptionsQuery)
  const check = options.data?.botCheck
  if (options.isError)
    return (
      <Alert
        tone="bad"
        action={
          <Button size={28} onClick={() => void options.refetch()}>
            Try again
          </Button>
        }
      >
        The bot check could not be loaded.
      </Alert>
    )
  const height = check?.kind === 'turnstile' ? 'min-h-16.25' : 'min-h-11'
  return (
    <div className={height}>
      <Suspense fallback={<Skeleton className={height} />}>
        {check?.kind === 'turnstile' && <Turnstile key={attempt} siteKey={check.siteKey} {...props} />}
        {check?.kind === 'altcha' && <Altcha key={attempt} challengeUrl={check.challengeUrl} {...props} />}
      </Suspense>
    </div>
  )
}
