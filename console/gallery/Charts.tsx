import { TimeSeriesChart } from '../src/components/chart/TimeSeriesChart.tsx'
import type { ChartData } from '../src/components/chart/chart-data.ts'
import { formatCount } from '../src/lib/format.ts'
import { Section } from './Section.tsx'

const start = Date.now() / 1000 - 86_400
const points = 96
const times = Array.from({ length: points }, (_, index) => start + index * 900)
/** Values between 0 and `height`, one for each time; each seed gives a different curve. */
const wave = (seed: number, height: number) =>
  times.map((_, index) =>
    Math.max(0, height * (0.6 + 0.3 * Math.sin(index / (9 + seed)) + 0.1 * Math.sin(index * seed))),
  )

const cpu: ChartData = {
  times,
  bucketSeconds: 900,
  series: [
    { label: 'API', kind: 'area', values: wave(3, 40) },
    {
      label: 'DB',
      kind: 'line',
      values: wave(5, 70).map((value, index) => (index > 40 && index < 50 && index !== 45 ? null : value)),
    },
    { label: 'Processor', kind: 'line', values: wave(7, 97) },
    { label: 'API limit', kind: 'limit', color: 1, values: times.map(() => 80) },
  ],
}
const traffic: ChartData = {
  times: times.filter((_, index) => index % 4 === 0),
  bucketSeconds: 3600,
  series: [
    { label: 'Valid', kind: 'bars', values: wave(4, 900).filter((_, index) => index % 4 === 0) },
    { label: 'Invalid', kind: 'bars', color: 3, values: wave(6, 60).filter((_, index) => index % 4 === 0) },
  ],
}
const latency: ChartData = {
  times,
  series: [
    { label: 'P50', kind: 'points', values: wave(2, 60), isInitiallyHidden: true },
    { label: 'P95', kind: 'points', values: wave(3, 120) },
    { label: 'P99', kind: 'points', values: wave(5, 300) },
  ],
}
const recentVersion: ChartData = {
  times,
  bucketSeconds: 900,
  series: [{ label: 'API', kind: 'line', values: wave(3, 40).map((value, index) => (index < 56 ? null : value)) }],
}
const marks = [
  { timeSeconds: start + 50_000, label: 'Deploy\n02.09.2026 14:03:59' },
  { timeSeconds: start + 50_200, label: 'Restart\n02.09.2026 14:07:19', isBad: true },
  { timeSeconds: start + 70_000, label: 'Set tag production\n02.09.2026 19:37:19' },
]
const percent = (value: number) => `${value.toFixed(0)}%`
const empty: ChartData = { times: [], series: [] }

/** Charts of each kind, with marks, without data and while loading. */
export function Charts() {
  return (
    <Section title="Charts">
      <div className="grid gap-4 lg:grid-cols-2">
        <TimeSeriesChart
          title="CPU usage"
          data={cpu}
          scale={{ format: percent, max: 100, threshold: { value: 95, label: 'outage' } }}
          emptyText="No data available for the selected time range"
          marks={marks}
          syncKey="ui"
        />
        <TimeSeriesChart
          title="Traffic"
          data={traffic}
          scale={{ format: formatCount, isStacked: true }}
          emptyText=""
          syncKey="ui"
        />
        <TimeSeriesChart
          title="Response latency"
          data={latency}
          scale={{ format: (ms) => `${ms.toFixed(0)} ms` }}
          emptyText=""
          heightPx={200}
        />
        <TimeSeriesChart
          title="Memory of a young version"
          note="512 MB"
          data={recentVersion}
          scale={{ format: percent, max: 100 }}
          emptyText=""
          beginsAt={start + 50_000}
          heightPx={200}
        />
        <TimeSeriesChart
          title="Crashes"
          data={empty}
          scale={{ format: String }}
          emptyText="No crashes for the selected time range."
          heightPx={200}
        />
        <TimeSeriesChart title="Loading" data={undefined} scale={{ format: String }} emptyText="" heightPx={200} />
      </div>
    </Section>
  )
}
