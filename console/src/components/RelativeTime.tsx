import { formatDateTime, formatRelative } from '../lib/format.ts'
import { useTicking } from '../lib/ticker.ts'

/** A time such as `3 days ago`, with the exact time on hover. */
export function RelativeTime({ at }: { at: string }) {
  const text = useTicking((nowMs) => formatRelative(at, nowMs))
  return (
    <time dateTime={at} data-tip={formatDateTime(at)} className="tabular whitespace-nowrap">
      {text}
    </time>
  )
}
