import { Link } from '@tanstack/react-router'
import { ArrowUpRight } from 'lucide-react'
import { useMemo } from 'react'
import { Swatch } from '../../components/chart/ChartLegend.tsx'
import { Button } from '../../ui/Button.tsx'
import { cx } from '../../ui/classes.ts'
import type { LineStyle } from './lines.ts'

type Props = {
  lines: readonly LineStyle[]
  /** The version or line that is shown alone; undefined if all are shown. */
  only: string | undefined
  onSelect: (only: string | undefined) => void
  onHighlight: (ids: ReadonlySet<string> | undefined) => void
}

/**
 * The legend of all charts, in which a line always has the same style. Hovering over a version or container
 * highlights its lines; clicking it shows only these lines.
 */
export function Legend({ lines, only, onSelect, onHighlight }: Props) {
  const squids = useMemo(() => [...Map.groupBy(lines, ({ squid }) => squid)], [lines])
  if (lines.length === 0) return null
  const entryProps = (key: string, ids: readonly string[]) => ({
    'aria-pressed': only === key,
    onClick: () => onSelect(only === key ? undefined : key),
    onPointerEnter: () => onHighlight(new Set(ids)),
    onPointerLeave: () => onHighlight(undefined),
    onFocus: () => onHighlight(new Set(ids)),
    onBlur: () => onHighlight(undefined),
  })
  return (
    <section
      aria-label="Legend"
      className="mb-4 flex items-start gap-3 rounded-lg border border-line bg-canvas px-2 py-1.5 sm:sticky sm:top-13 sm:z-15"
    >
      <ul className="flex max-h-59.5 min-w-0 sm:max-h-29.5 flex-1 flex-wrap gap-x-4 gap-y-0.5 overflow-y-auto">
        {squids.map(([squid, lines]) => (
          <li key={squid} className="flex max-w-full flex-wrap items-center">
            <button
              type="button"
              {...entryProps(
                squid,
                lines.map(({ id }) => id),
              )}
              className={entryClass(only === squid, 'font-medium')}
            >
              {squid}
            </button>
            <VersionLink squid={squid} />
            {lines.map((line) => (
              <button
                key={line.id}
                type="button"
                {...entryProps(line.id, [line.id])}
                aria-label={line.id}
                className={entryClass(only === line.id, 'text-ink-2')}
              >
                <Swatch series={{ ...line, kind: 'line' }} index={0} />
                {line.container}
              </button>
            ))}
          </li>
        ))}
      </ul>
      {only !== undefined && (
        <Button size={28} onClick={() => onSelect(undefined)}>
          Show all
        </Button>
      )}
    </section>
  )
}

const entryClass = (isOn: boolean, className: string): string =>
  cx(
    'flex h-7 items-center gap-1.5 rounded-sm px-1.5 text-sm transition-colors hover:bg-muted',
    className,
    isOn && 'bg-accent-soft text-accent',
  )

function VersionLink({ squid }: { squid: string }) {
  const [squidName = '', squidSlot = ''] = squid.split('@')
  return (
    <Link
      to="/squids/$squidName/$squidSlot"
      params={{ squidName, squidSlot }}
      aria-label={`Open ${squid}`}
      data-tip={`Open ${squid}`}
      className="grid size-6 place-items-center rounded-sm text-ink-3 hover:bg-muted hover:text-ink"
    >
      <ArrowUpRight size={13} aria-hidden />
    </Link>
  )
}
