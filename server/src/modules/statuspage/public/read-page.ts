import { statusPageLimits, type IncidentImpact, type IncidentState } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { dayOf, days, isoTime, minutes } from '../../../clock.ts'
import { lagOf, readVersionDetails, type VersionDetails } from '../../observing/index.ts'
import { listIncidents, type IncidentWithUpdates } from '../incident-store.ts'
import {
  addUp,
  availabilityOf,
  dayStatusOf,
  downMinutesOf,
  noMeasurements,
  type DayStatus,
} from '../measuring/availability.ts'
import { findPage } from '../page-store.ts'
import { pageUrl } from '../settings.ts'
import { statusOfPage, statusOfTag, type TagStatus } from './tag-status.ts'
import { selectDays, selectPageTags, type MeasuredDay, type PageTag } from './page-data-store.ts'

/** How far the slowest processor of a tag is behind its chain. `seconds`: null if the chain's rate is unknown. */
export type Freshness = { blocks: number; seconds: number | null; head: number; asOf: string }

export type PublicDay = {
  day: string
  status: DayStatus
  /** Percent, two decimals, rounded down; null if nothing was measured. */
  availability: number | null
  downMinutes: number
  hibernatedMinutes: number
}

/** The public facts of a tag. Request counts are not public, because they would show how much a squid is used. */
export type PublicTag = {
  name: string
  status: TagStatus
  freshness: Freshness | null
  /** Over all days; null if nothing was measured. */
  availability: number | null
  downMinutes: number
  /** The UTC day on which the tag was added to the page. */
  measuredSince: string
  /** 90 days and today, oldest first. */
  days: PublicDay[]
}

export type PublicIncident = {
  id: string
  title: string
  impact: IncidentImpact
  tags: string[]
  startedAt: string
  resolvedAt: string | null
  /** When the incident last got an update or was edited. */
  changedAt: string
  /** Newest first. */
  updates: { at: string; state: IncidentState; text: string }[]
}

export type PublicPage = {
  title: string
  url: string
  /** When the data of the page was read. */
  generatedAt: string
  status: TagStatus
  tags: PublicTag[]
  /** Open ones first, then newest first. */
  incidents: PublicIncident[]
}

/** If the metrics of a processor were last read longer ago than this, the freshness of its data is not known. */
const maxScrapeAgeMs = minutes(10)

/**
 * Reads everything that the page of an organization shows; null if there is no page. Contains no ids or slots of
 * squids, and no reasons of alerts.
 */
export async function readPage(
  { db, clock, config }: Pick<App, 'db' | 'clock' | 'config'>,
  orgId: number,
): Promise<PublicPage | null> {
  const page = await findPage(db, orgId)
  if (!page) return null
  const nowMs = clock.now().getTime()
  const pageTags = await selectPageTags(db, orgId)
  const firstMs = Date.parse(dayOf(nowMs)) - days(statusPageLimits.days)
  const [measured, detailsOf, incidents] = await Promise.all([
    selectDays(
      db,
      pageTags.map(({ id }) => id),
      dayOf(firstMs),
    ),
    readVersionDetails(db, { squidIds: pageTags.flatMap(({ squidId }) => squidId ?? []) }),
    listIncidents(db, orgId, new Date(firstMs)),
  ])
  const shown = incidents.filter((incident) => isShown(incident, pageTags))
  const open = shown.filter(({ resolvedAt }) => resolvedAt === null)
  const byTag = Map.groupBy(measured, ({ tagId }) => tagId)
  const tags = pageTags.map((tag): PublicTag => {
    const details = tag.squidId === null ? null : detailsOf(tag.squidId)
    const tagDays = byTag.get(tag.id) ?? []
    return {
      name: tag.name,
      status: statusOfTag(
        tag,
        details,
        open.filter((incident) => affects(incident, tag)).map(({ impact }) => impact),
      ),
      freshness: details && tag.desiredState === 'running' ? freshnessOf(details, nowMs) : null,
      ...availabilityOfTag(tagDays, firstMs),
      measuredSince: dayOf(tag.addedAtMs),
    }
  })
  return {
    title: page.title,
    url: pageUrl({ config }, page.slug),
    generatedAt: isoTime(nowMs),
    status: statusOfPage(
      tags.map(({ status }) => status),
      open.map(({ impact }) => impact),
    ),
    tags,
    incidents: shown.map((incident) => presentIncident(incident, pageTags)),
  }
}

function availabilityOfTag(measured: MeasuredDay[], firstMs: number) {
  const byDay = new Map(measured.map((day) => [day.day, day]))
  const total = addUp(measured)
  return {
    availability: availabilityOf(total),
    downMinutes: downMinutesOf(total),
    days: Array.from({ length: statusPageLimits.days + 1 }, (_, i): PublicDay => {
      const day = dayOf(firstMs + days(i))
      const counts = byDay.get(day) ?? noMeasurements
      return {
        day,
        status: dayStatusOf(counts),
        availability: availabilityOf(counts),
        downMinutes: downMinutesOf(counts),
        hibernatedMinutes: Math.ceil(counts.hibernatedMs / 60_000),
      }
    }),
  }
}

function freshnessOf({ processors }: VersionDetails, nowMs: number): Freshness | null {
  const lags = processors
    .filter(({ scrapedAtMs }) => nowMs - scrapedAtMs <= maxScrapeAgeMs)
    .flatMap((processor) => {
      const lag = lagOf(processor, nowMs)
      return lag
        ? [{ blocks: lag.blocks, seconds: lag.seconds, head: lag.head, asOf: isoTime(processor.scrapedAtMs) }]
        : []
    })
  return lags.toSorted((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0) || b.blocks - a.blocks)[0] ?? null
}

const affects = ({ tags }: IncidentWithUpdates, { squid, tag }: PageTag) =>
  tags.some((affected) => affected.squid === squid && affected.tag === tag)

/** Whether the page may show an incident: it is about the whole page, or about a tag that is on it. */
const isShown = (incident: IncidentWithUpdates, pageTags: PageTag[]) =>
  incident.tags.length === 0 || pageTags.some((tag) => affects(incident, tag))

function presentIncident(incident: IncidentWithUpdates, pageTags: PageTag[]): PublicIncident {
  const { id, title, impact, startedAt, resolvedAt, editedAt, updates } = incident
  const changes = [startedAt, ...updates.map(({ at }) => at), ...(editedAt ? [editedAt] : [])]
  return {
    id,
    title,
    impact,
    tags: pageTags.filter((tag) => affects(incident, tag)).map(({ name }) => name),
    startedAt: startedAt.toISOString(),
    resolvedAt: resolvedAt?.toISOString() ?? null,
    changedAt: isoTime(Math.max(...changes.map(Number))),
    updates: updates.map(({ at, state, text }) => ({ at: at.toISOString(), state, text })),
  }
}
