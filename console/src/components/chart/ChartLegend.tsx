import { cx } from '../../ui/classes.ts'
import { colorToken, dashes, type ChartSeries } from './chart-data.ts'

/** All legends have the same height, so that charts side by side align. */
export const legendClass = 'h-6 max-xs:h-12'

type Props = { series: readonly ChartSeries[]; hidden: ReadonlySet<string>; onToggle: (label: string) => void }

/** Names and colours of the series. Clicking a name hides or shows its series. */
export function ChartLegend({ series, hidden, onToggle }: Props) {
  return (
    <div
      role="group"
      aria-label="Shown in the chart"
      className={cx(legendClass, 'flex flex-wrap content-start gap-x-1 overflow-y-auto text-xs')}
    >
      {series.map((item, index) => (
        <button
          key={index}
          type="button"
          aria-pressed={!hidden.has(item.label)}
          data-tip={hidden.has(item.label) ? `Show ${item.label}` : `Hide ${item.label}`}
          onClick={() => onToggle(item.label)}
          className="flex h-6 items-center gap-1.5 rounded-sm px-1.5 whitespace-nowrap text-ink-2 not-aria-pressed:text-ink-3 hover:bg-muted"
        >
          <Swatch series={item} index={index} isHidden={hidden.has(item.label)} />
          {item.label}
        </button>
      ))}
    </div>
  )
}

type SwatchProps = { series: Omit<ChartSeries, 'label' | 'values'>; index: number; isHidden?: boolean }

/** A sample of the colour and the dashes of a series; grey if the series is hidden. */
export function Swatch({ series, index, isHidden = false }: SwatchProps) {
  const color = isHidden ? 'var(--n7)' : `var(--${colorToken(series, index)})`
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
