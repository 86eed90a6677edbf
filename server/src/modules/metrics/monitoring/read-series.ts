import type { MonitoringQuery, MonitoringSeries } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { createRetentionCheck } from '../levels.ts'
import type { Range } from '../range.ts'
import { countContainers, selectLabels, selectSeries, type LabelledSquid, type Series } from './series-store.ts'
import { stepOf, timesOf } from './step.ts'

/**
 * Maximum number of points per response, regardless of the size of the organization: as many as the server can send and a browser can draw
 * quickly.
 */
const totalPointLimit = 100_000
/** Minimum number of points per series, however many series there are. */
const minPoints = 24

/** Queries that return only containers with values above zero. */
const nonZeroQueries: MonitoringQuery[] = ['crashes', 'oom_kills']

/** Returns one series per container that has values in the range, all with the same times. */
export async function readSeries(
  app: Pick<App, 'db' | 'clock' | 'config'>,
  orgId: number,
  query: MonitoringQuery,
  { range, maxPoints }: { range: Range; maxPoints: number },
): Promise<MonitoringSeries[]> {
  const containers = await countContainers(app.db, orgId)
  const maxPerContainer = Math.max(minPoints, Math.floor(totalPointLimit / Math.max(1, containers)))
  const step = stepOf(range, Math.max(1, Math.min(maxPoints, maxPerContainer)), createRetentionCheck(app))
  const times = timesOf(range, step.ms)
  const window = { fromMs: times[0] ?? range.fromMs, toMs: range.toMs, step }
  const [series, labels] = await Promise.all([selectSeries(app.db, orgId, query, window), selectLabels(app.db, orgId)])
  const squids = new Map(labels.map((squid) => [squid.id, squid]))
  const shown = nonZeroQueries.includes(query) ? series.filter(({ values }) => values.some((v) => v !== 0)) : series
  return shown.map((row) => {
    const values = valuesOf(row)
    return { labels: labelsOf(row, squids.get(row.squidId)), values: times.map((ms) => pointAt(ms / 1000, values)) }
  })
}

const valuesOf = ({ times, values }: Series) => new Map(times.map((t, i) => [t, values[i] ?? null]))

const pointAt = (t: number, values: Map<number, number | null>) => ({ t, v: values.get(t) ?? null })

function labelsOf({ squidId, container }: Series, squid: LabelledSquid | undefined): MonitoringSeries['labels'] {
  const name = squid ? `${squid.name}@${squid.slot}` : ''
  return { squid_id: String(squidId), squid_name: name, container, squid_tags: squid?.tags.join(',') ?? '' }
}
