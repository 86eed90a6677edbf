import type { TimeGroup } from '@shoal/contract'
import type { TimeRanges } from '../../components/time-range/time-range.ts'
import { formatDayMonthTime } from '../../lib/format.ts'
import { formatUtcDayMonth, formatUtcMonth } from '../../lib/utc-dates.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const defaultRange = { id: '7d', label: 'Last 7 days', ms: 7 * dayMs }

/** The ranges of spec 2.9. */
export const ranges: TimeRanges = {
  defaultRange,
  options: [
    { id: '1h', label: 'Last hour', ms: hourMs },
    { id: '6h', label: 'Last 6 hours', ms: 6 * hourMs },
    { id: '1d', label: 'Last day', ms: dayMs },
    { id: '2d', label: 'Last 2 days', ms: 2 * dayMs },
    defaultRange,
    { id: '30d', label: 'Last 30 days', ms: 30 * dayMs },
    { id: '90d', label: 'Last 90 days', ms: 90 * dayMs },
    { id: '1y', label: 'Last year', ms: 365 * dayMs },
  ],
}

/** Time formats of the axis (spec 2.9). Days and months are in UTC. */
export const axisFormats: Record<TimeGroup, (timeMs: number) => string> = {
  Minute: formatDayMonthTime,
  Hour: formatDayMonthTime,
  Day: formatUtcDayMonth,
  Month: formatUtcMonth,
}
