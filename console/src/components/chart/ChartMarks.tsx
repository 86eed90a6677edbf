import { Link } from '@tanstack/react-router'
import type { KeyboardEvent } from 'react'
import { cx } from '../../ui/classes.ts'
import { groupMarks, type ChartMark, type MarkGroup } from './chart-data.ts'

/** The plotted area in pixels, and its time range in Unix seconds. */
export type ChartFrame = { leftPx: number; widthPx: number; bottomPx: number; from: number; to: number }

/** Minimum distance between handles, so that each can be clicked. */
const minDistancePx = 14
/** Maximum number of deployments that a tooltip lists. */
const maxListed = 6

type Props = { title: string; marks: readonly ChartMark[]; frame: ChartFrame }

/** The handles of the vertical marks on the time axis. They are one tab stop; the arrow keys move between them. */
export function ChartMarks({ title, marks, frame: { leftPx, widthPx, bottomPx, from, to } }: Props) {
  const visible = marks.filter(({ timeSeconds }) => timeSeconds >= from && timeSeconds <= to)
  const xOf = (seconds: number) => leftPx + ((seconds - from) / (to - from)) * widthPx
  if (visible.length === 0) return null
  return (
    <ul aria-label={`Deployments in ${title}`} onKeyDown={onArrow} className="contents">
      {groupMarks(visible, xOf, minDistancePx).map((group, index) => (
        <li key={group.x} className="absolute size-4 -translate-1/2" style={{ left: group.x, top: bottomPx }}>
          <Handle group={group} isFirst={index === 0} />
        </li>
      ))}
    </ul>
  )
}

/** The handle of a group links to its newest deployment; zooming in separates the others. */
function Handle({ group: { marks }, isFirst }: { group: MarkGroup; isFirst: boolean }) {
  const label = labelOf(marks)
  const markClass = cx(
    'size-2 rotate-45 rounded-[1px] border border-canvas group-hover:scale-125',
    marks.some(({ isBad }) => isBad) ? 'bg-bad' : 'bg-ink-2 group-hover:bg-accent',
  )
  const link = marks.at(-1)?.link
  const handleClass = 'group grid size-4 place-items-center rounded-sm'
  if (!link)
    return (
      <span data-tip={label} className={handleClass}>
        <span className={markClass} />
      </span>
    )
  return (
    <Link {...link} data-tip={label} aria-label={label} tabIndex={isFirst ? 0 : -1} className={handleClass}>
      <span aria-hidden className={markClass} />
    </Link>
  )
}

function labelOf(marks: readonly ChartMark[]): string {
  const [onlyMark] = marks
  if (marks.length === 1 && onlyMark) return onlyMark.label
  const listed = marks.slice(-maxListed).map(({ label }) => label.split('\n')[0])
  const more = marks.length - listed.length
  return [...listed.toReversed(), ...(more > 0 ? [`and ${more} more`] : [])].join('\n')
}

function onArrow(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
  if (step === undefined) return
  const links = [...event.currentTarget.querySelectorAll('a')]
  links[links.findIndex((link) => link === document.activeElement) + step]?.focus()
}
