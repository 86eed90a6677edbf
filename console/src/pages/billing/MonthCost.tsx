import type { BillingSummary } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { TimeSeriesChart } from '../../components/chart/TimeSeriesChart.tsx'
import type { ChartData } from '../../components/chart/chart-data.ts'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn } from '../../components/data-table/named-columns.tsx'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { formatCents, formatHourlyUsd, formatUsd, emptyValue } from '../../lib/format.ts'
import { Card, Figures } from '../../ui/Card.tsx'
import { dayLabel, monthTitle } from './months.ts'
import { summaryQuery } from './queries.ts'

type SquidRow = BillingSummary['squids'][number]
const scale = { format: formatUsd }
const maxSquids = 10

const columns: Column<SquidRow>[] = [
  {
    id: 'squid',
    header: 'Squid',
    cell: ({ squid }) => (
      <span className="block py-2 wrap-anywhere whitespace-normal">
        {squid?.name ?? 'RPC requests from outside squids'}
      </span>
    ),
  },
  numberColumn(
    'Per hour now',
    ({ perHourUsd }) => (Number(perHourUsd) === 0 ? emptyValue : formatHourlyUsd(perHourUsd)),
    { hideBelow: 'sm', width: '130px' },
  ),
  numberColumn('So far', ({ soFarUsd }) => formatCents(soFarUsd), { width: '94px', narrowWidth: '82px' }),
  numberColumn('Forecast', ({ forecastUsd }) => formatCents(forecastUsd), { width: '94px', narrowWidth: '88px' }),
]

/** The cost of the current month: so far, as a forecast, per squid and per day. */
export default function MonthCost({ code }: { code: string }) {
  const query = useQuery({ ...summaryQuery(code), refetchInterval: 60_000 })
  return (
    <QueryView query={query} what="The cost of this month">
      {(summary) => <MonthSummary summary={summary} />}
    </QueryView>
  )
}

function MonthSummary({
  summary: { month, soFarUsd, forecastUsd, perHourUsd, squids, daily },
}: {
  summary: BillingSummary
}) {
  const chart = useMemo(() => chartOf(daily), [daily])
  const topSquids = useMemo(() => squids.slice(0, maxSquids), [squids])
  return (
    <>
      <Card title={monthTitle(month)}>
        <Figures
          figures={[
            { label: 'So far', value: formatCents(soFarUsd) },
            { label: 'Forecast for the month', value: formatCents(forecastUsd) },
            { label: 'Per hour now', value: formatHourlyUsd(perHourUsd) },
          ]}
        />
        <p className="border-t border-line px-3.5 py-2 text-xs text-ink-3">After discounts, before tax.</p>
      </Card>
      <TimeSeriesChart
        title="Cost by day"
        data={chart}
        scale={scale}
        emptyText="No cost in this month"
        heightPx={200}
        formatTime={dayLabel}
      />
      {squids.length > 0 && (
        <div>
          <DataTable
            label="Cost by squid"
            columns={columns}
            rows={topSquids}
            idOf={({ squid }) => String(squid?.id ?? 'none')}
            empty={null}
          />
          {squids.length > topSquids.length && (
            <p className="mt-2 text-ink-2">
              The {topSquids.length} most expensive of {squids.length}.{' '}
              <Link
                to="/billing/usage"
                search={{ bySquid: 'true' }}
                className="text-accent underline underline-offset-2"
              >
                See all
              </Link>
            </p>
          )}
        </div>
      )}
    </>
  )
}

function chartOf(daily: BillingSummary['daily']): ChartData {
  if (daily.every(({ amountUsd }) => Number(amountUsd) === 0)) return { times: [], series: [] }
  return {
    times: daily.map(({ day }) => Date.parse(day) / 1000),
    series: [{ label: 'Cost', kind: 'bars', values: daily.map(({ amountUsd }) => Number(amountUsd)) }],
  }
}
