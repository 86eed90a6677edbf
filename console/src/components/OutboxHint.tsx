import { useQuery } from '@tanstack/react-query'
import { authOptionsQuery } from '../api/session.ts'

/** Shows where users can read their emails if this installation does not send any. */
export function OutboxHint() {
  const options = useQuery(authOptionsQuery).data
  if (!options?.hasOutbox) return null
  return (
    <p className="mt-3 text-sm text-ink-2">
      This installation does not send emails.{' '}
      {options.outboxUrl === null ? (
        <>
          They appear in its outbox: open the URL that the server printed at start, which ends in{' '}
          <code className="whitespace-nowrap">/outbox?key=…</code>
        </>
      ) : (
        <a
          href={options.outboxUrl}
          target="_blank"
          rel="noreferrer"
          className="text-accent underline underline-offset-3"
        >
          Read the email in the outbox
        </a>
      )}
    </p>
  )
}
