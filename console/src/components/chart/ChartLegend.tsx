import { cx } from '../../ui/classes.ts'
import { colorToken, dashes, type ChartSeries } from './chart-data.ts'

/** One height for all charts, so that charts side by side align. */
export const legendClass = 'h-6 max-xs:h-12'

type Props = { series: readonly ChartSeries[]; hidden: ReadonlySet<string>; onToggle: (label: string) => void }

/** Names and colours of the series. Clicking one hides or shows it. */
export function ChartLegend({ series, hidden, onToggle }: Props) {
  return (
    <div
      role="group"
      aria-label="Shown in the chart"
      className={cx(legendClass, 'flex flex-wrap content-start gap-x-1 overflow-y-auto text-xs')}
    >
      {series.map((one, at) => (
        <button
          key={at}
          type="button"
          aria-pressed={!hidden.has(one.label)}
          data-tip={hidden.has(one.label) ? `Show ${one.label}` : `Hide ${one.label}`}
          onClick={() => onToggle(one.label)}
          className="flex h-6 items-center gap-1.5 rounded-sm px-1.5 whitespace-nowrap text-ink-2 not-aria-pressed:text-ink-3 hover:bg-muted"
        >
          <Swatch series={one} at={at} isHidden={hidden.has(one.label)} />
          {one.label}
        </button>
      ))}
    </div>
  )
}

type SwatchProps = { series: Omit<ChartSeries, 'label' | 'values'>; at: number; isHidden?: boolean }

/** The colour, dash and visibility of a series. */
export function Swatch({ series, at, isHidden = false }: SwatchProps) {
  const color = isHidden ? 'var(--n7)' : `var(--${colorToken(series, at)})`
  if (series.kind === 'limit')
    return (
      <span
        aria-hidden
        className="h-0.5 w-3"
        style={{ background: `linear-gradient(90deg, ${color} 5px, transparent 5px 7px, ${color} 7px)` }}
      />
    )
  if (series.dash)
    return (
      <svg aria-hidden width={16} height={8} className="shrink-0">
        <path d="M0 4h16" stroke={color} strokeWidth={2} strokeDasharray={dashes[series.dash].join(' ')} />
      </svg>
    )
  return (
    <span
      aria-hidden
      className="size-2 rounded-full border-[1.5px]"
      style={{ borderColor: color, background: isHidden ? 'transparent' : color }}
    />
  )
}
