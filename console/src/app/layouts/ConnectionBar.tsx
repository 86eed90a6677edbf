import { WifiOff } from 'lucide-react'
import { useEffect } from 'react'
import { useDisconnectedSince } from '../../api/connection.ts'
import { formatTime } from '../../lib/format.ts'

/** Shown below the top bar while the server is unreachable. The page remains visible, with muted statuses. */
export function ConnectionBar() {
  const sinceMs = useDisconnectedSince()
  const isLost = sinceMs !== null

  useEffect(() => {
    document.documentElement.toggleAttribute('data-connection-lost', isLost)
    return () => document.documentElement.removeAttribute('data-connection-lost')
  }, [isLost])

  return (
    <div role="status" className="sticky top-13 z-10 -mx-4 -mt-4 mb-4 sm:-mx-7 sm:-mt-6 sm:mb-6">
      {isLost && (
        <p className="flex items-center justify-center gap-2 border-b border-warn bg-warn-soft px-4 py-1 text-sm text-ink">
          <WifiOff size={14} aria-hidden className="shrink-0 text-warn" />
          <span>
            No connection since <time className="tabular-nums">{formatTime(sinceMs)}</time>, retrying
          </span>
          <span className="hidden text-ink-2 sm:inline">Your squids keep running.</span>
        </p>
      )}
    </div>
  )
}
