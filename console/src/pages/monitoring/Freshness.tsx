import { formatRelative, formatTime } from '../../lib/format.ts'
import { useTicking } from '../../lib/ticker.ts'

type Props = { updatedAtMs: number; isFailing: boolean }

/** How old the oldest of the charts is; said aloud when they cannot be asked for again. */
export function Freshness({ updatedAtMs, isFailing }: Props) {
  const ago = useTicking((nowMs) => formatRelative(updatedAtMs, nowMs))
  if (isFailing)
    return (
      <span role="status" className="tabular text-sm text-warn">
        Cannot be refreshed; as of {formatTime(updatedAtMs)}
      </span>
    )
  return <span className="tabular text-sm text-ink-3">Updated {ago}</span>
}
