import { CircleAlert } from 'lucide-react'
import { errorText, requestIdOf } from '../api/error-text.ts'
import { Button } from '../ui/Button.tsx'
import { CopyButton } from '../ui/CopyButton.tsx'

type Props = {
  /** What failed: `The squids could not be loaded`. */
  what: string
  /** What still works. */
  unaffected?: string
  error: unknown
  /** Replaces the error's own text. */
  text?: string
  onRetry?: () => void
  /** Whether the error replaces the whole page, including the title of the page. */
  isPage?: boolean
}

/** Shown when loading fails: what failed, what still works, a button to retry, and the request id to quote to support. */
export function ErrorState({
  what,
  unaffected = 'Your squids keep running.',
  error,
  text = errorText(error),
  onRetry,
  isPage = false,
}: Props) {
  const Heading = isPage ? 'h1' : 'h2'
  const requestId = requestIdOf(error)
  return (
    <div
      role="alert"
      className="rounded-lg border border-line px-5 py-4 in-data-card:border-0 in-data-[card=flush]:px-3.5 in-data-[card=padded]:p-0"
    >
      <div className="flex flex-wrap items-start gap-2.5">
        <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-bad" />
        {/* On phones the button is below the text. */}
        <div className="min-w-0 flex-1 max-xxs:basis-60">
          <Heading className="font-medium">{what}</Heading>
          <p className="mt-0.5 break-words text-ink-2">{text}</p>
          <p className="text-ink-3">{unaffected}</p>
          {requestId && (
            <p className="mt-2 flex items-center gap-1 text-sm text-ink-3">
              Request <code>{requestId}</code>
              <CopyButton text={requestId} what="request id" />
            </p>
          )}
        </div>
        {onRetry && (
          <Button onClick={onRetry} className="max-xxs:ml-6.5">
            Try again
          </Button>
        )}
      </div>
    </div>
  )
}
