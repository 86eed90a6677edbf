import type { RpcChainDetails } from '@shoal/contract'
import { useMemo } from 'react'
import { TimeSeriesChart } from '../../components/chart/TimeSeriesChart.tsx'
import { formatCount } from '../../lib/format.ts'
import { requestsChart } from './requests-chart.ts'

const hourMs = 3_600_000
const scale = { format: formatCount, isStacked: true }

/** The chart of the requests of the last seven days. It is loaded lazily, because the code of charts is larger than that of the page. */
export default function RequestsChart({ chain, fetchedAtMs }: { chain: RpcChainDetails; fetchedAtMs: number }) {
  const { metrics, timeGroup } = chain
  // The data is recomputed only when the hour or the numbers change.
  const hour = Math.floor(fetchedAtMs / hourMs)
  const data = useMemo(() => requestsChart({ metrics, timeGroup }, hour * hourMs), [metrics, timeGroup, hour])
  return (
    <TimeSeriesChart
      title="Requests by method"
      data={data}
      scale={scale}
      emptyText="No requests in the last 7 days"
      heightPx={200}
    />
  )
}
