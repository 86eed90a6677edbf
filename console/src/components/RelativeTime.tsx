import { formatDateTime, formatRelative } from '../lib/format.ts'
import { useTicking } from '../lib/ticker.ts'

/** `3 days ago`; hovering says exactly when. */
export function RelativeTime({ at }: { at: string }) {
  const text = useTicking((nowMs) => formatRelative(at, nowMs))
  return (
    <time dateTime={at} data-tip={formatDateTime(at)} className="tabular whitespace-nowrap">
      {text}
    </time>
  )
}
