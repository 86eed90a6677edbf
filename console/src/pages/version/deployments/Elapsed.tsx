import { formatDuration } from '../../../lib/format.ts'
import { useTicking } from '../../../lib/ticker.ts'

type Props = { startedAt: string; elapsedMs: number | null }

/** How long something took, or takes so far. */
export function Elapsed({ startedAt, elapsedMs }: Props) {
  return (
    <span className="tabular whitespace-nowrap">
      {elapsedMs === null ? <Running startedAt={startedAt} /> : formatDuration(elapsedMs)}
    </span>
  )
}

function Running({ startedAt }: { startedAt: string }) {
  // Whole seconds, so that nothing flickers; the clocks of the server and the browser may differ a little.
  return useTicking((nowMs) => `${Math.max(0, Math.floor((nowMs - Date.parse(startedAt)) / 1000))} s`)
}
