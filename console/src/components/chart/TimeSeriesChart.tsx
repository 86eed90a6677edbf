import { ChartLine, Table2 } from 'lucide-react'
import { useMemo, useState, type ReactNode } from 'react'
import { Card } from '../../ui/Card.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { ChartLegend, legendClass } from './ChartLegend.tsx'
import { InteractiveChart } from './InteractiveChart.tsx'
import { ChartTable } from './ChartTable.tsx'
import { isWithoutValues, tsvOf, type ChartData, type ChartMark, type ChartScale } from './chart-data.ts'
import type { PlotInput } from './plot-options.ts'

type Props = Pick<PlotInput, 'syncKey' | 'formatTime' | 'onZoom' | 'highlighted' | 'beginsAt'> & {
  title: string
  /** Shown next to the title: a unit or a total. */
  note?: ReactNode
  /** Undefined while loading. Keep the object identical while the data is unchanged. */
  data: ChartData | undefined
  scale: ChartScale
  /** Shown instead of the plot when there is no data (spec 2.10). */
  emptyText: string
  heightPx?: 200 | 250
  marks?: readonly ChartMark[]
  /** True if the page has one legend for all its charts. */
  isLegendElsewhere?: boolean
}

const noMarks: readonly ChartMark[] = []

/** A time series as a plot, which loads when it scrolls into view, and as a table to read and copy. */
export function TimeSeriesChart({
  title,
  note,
  data,
  scale,
  emptyText,
  heightPx = 250,
  marks = noMarks,
  isLegendElsewhere = false,
  ...rest
}: Props) {
  const [isTable, setIsTable] = useState(false)
  const { hidden, shown, toggle } = useSeriesVisibility(data)
  const isEmpty = data !== undefined && isWithoutValues(data)
  const hasTable = data !== undefined && !isEmpty
  const tsv = useMemo(() => (isTable && data ? tsvOf(data) : ''), [isTable, data])
  return (
    <Card
      title={
        <>
          {title}
          {note && <span className="tabular ml-2 text-sm font-normal text-ink-3">{note}</span>}
        </>
      }
      aside={
        hasTable && (
          <div className="flex">
            {isTable && <CopyButton text={tsv} what={`${title} as a table`} />}
            <IconButton
              size={28}
              label={isTable ? 'Show as a chart' : 'Show as a table'}
              icon={isTable ? <ChartLine size={14} aria-hidden /> : <Table2 size={14} aria-hidden />}
              onClick={() => setIsTable(!isTable)}
            />
          </div>
        )
      }
    >
      <div className="px-3.5 pt-2 pb-2">
        {hasTable && isTable && (
          <ChartTable title={title} data={data} scale={scale} heightPx={heightPx + (isLegendElsewhere ? 0 : 24)} />
        )}
        {hasTable && !isTable && !isLegendElsewhere && (
          <ChartLegend series={data.series} hidden={hidden} onToggle={toggle} />
        )}
        {!hasTable && !isLegendElsewhere && <div className={legendClass} />}
        {hasTable && !isTable && shown && (
          <InteractiveChart {...{ title, scale, heightPx, marks }} {...rest} data={shown} />
        )}
        {!hasTable && (
          <div className="flex items-end justify-center" style={{ height: heightPx }}>
            {isEmpty ? <p className="self-center text-ink-3">{emptyText}</p> : <Skeleton className="h-3/4 w-full" />}
          </div>
        )}
      </div>
    </Card>
  )
}

const noLabels: ReadonlySet<string> = new Set()

/** The visibility of each series. `shown` is the same object until the data or the selection changes. */
function useSeriesVisibility(data: ChartData | undefined) {
  const [toggled, setToggled] = useState(noLabels)
  const hidden = useMemo(() => {
    const isHidden = ({ label, isInitiallyHidden = false }: ChartData['series'][number]) =>
      isInitiallyHidden !== toggled.has(label)
    return new Set(data?.series.filter(isHidden).map(({ label }) => label))
  }, [data, toggled])
  const shown = useMemo(() => {
    // A series keeps its colour when others are hidden.
    const series = data?.series.map((item, index) => ({ ...item, color: item.color ?? (index % 6) + 1 }))
    return data && series && { ...data, series: series.filter(({ label }) => !hidden.has(label)) }
  }, [data, hidden])
  const toggle = (label: string) =>
    setToggled(
      (labels) => new Set(labels.has(label) ? [...labels].filter((other) => other !== label) : [...labels, label]),
    )
  return { hidden, shown, toggle }
}
