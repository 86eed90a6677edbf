import type { DayStatus } from '../measuring/availability.ts'
import type { PublicDay } from './read-page.ts'
import { dateText } from './texts.ts'

/** The width of a day in the SVG, including the gap to the next day. The style creates the gaps with `stroke-dasharray`. */
const dayWidth = 4
const maxListedDays = 5

const statusTexts: Record<DayStatus, string> = {
  good: 'without trouble',
  degraded: 'degraded',
  outage: 'with an outage',
  hibernated: 'paused',
  unknown: 'not measured',
}
const dayStatuses = Object.keys(statusTexts) as DayStatus[]

/**
 * Draws one bar for each day. Consecutive days with the same status share one line, which keeps the page small: 20 services fit
 * into 15 KB.
 */
export function renderDays(days: PublicDay[]): string {
  const width = days.length * dayWidth
  const paths = dayStatuses.flatMap((status) => {
    const runs = runsOf(days, status)
    return runs.length === 0
      ? []
      : `<path class="${status}" d="${runs.map(({ from, length }) => `M${from * dayWidth} 12h${length * dayWidth}`).join('')}"/>`
  })
  const counts = dayStatuses.flatMap((status) => {
    const n = days.filter((day) => day.status === status).length
    return n > 0 ? [`${n} ${statusTexts[status]}`] : []
  })
  return `<svg class="d" viewBox="0 0 ${width} 24" preserveAspectRatio="none" role="img" aria-label="Days: ${counts.join(', ')}">${paths.join('')}</svg>`
}

function runsOf(days: PublicDay[], status: DayStatus): { from: number; length: number }[] {
  const runs: { from: number; length: number }[] = []
  for (const [at, day] of days.entries()) {
    if (day.status !== status) continue
    const last = runs.at(-1)
    if (last && last.from + last.length === at) last.length += 1
    else runs.push({ from: at, length: 1 })
  }
  return runs
}

/** Lists the newest days with trouble (degraded or with an outage) as text. Empty if there are none. */
export function renderAffectedDays(days: PublicDay[]): string {
  const troubled = days.filter(({ status }) => status === 'degraded' || status === 'outage').toReversed()
  if (troubled.length === 0) return ''
  const items = troubled.slice(0, maxListedDays).map(textOf)
  const more = troubled.length - maxListedDays
  if (more > 0) items.push(`and ${more} earlier`)
  return `<details class="m"><summary>${troubled.length === 1 ? '1 day' : `${troubled.length} days`} with trouble</summary>${items.join('<br>')}</details>`
}

function textOf({ day, status, availability, downMinutes }: PublicDay): string {
  const details = [
    ...(availability === null ? [] : [`${availability}% available`]),
    ...(downMinutes > 0 ? [`${downMinutes} min without a healthy API`] : []),
  ]
  return `${dateText(day)}, ${statusTexts[status]}: ${details.join(', ')}`
}
